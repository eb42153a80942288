// Vega is in the page as base64 of gzip, a third of its size; the policy of the page has its hash.
const packed = Uint8Array.from(atob(document.getElementById("report-vega").textContent), (sign) => sign.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
document.head.append(Object.assign(document.createElement("script"), { textContent: await new Response(unpacked).text() }));

const specs = JSON.parse(document.getElementById("report-charts").textContent);
const views = new Map();
const scheme = matchMedia("(prefers-color-scheme: dark)");

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function config() {
  const [ink, muted, grid, line] = ["ink", "muted", "grid", "line"].map(color);
  const category = Array.from({ length: 6 }, (_, at) => color(`color-${at}`));
  const marks = {
    best: { color: color("best") },
    guess: { color: color("guess") },
    muted: { color: muted },
    "on-low": { color: color("on-low") },
    "on-high": { color: color("on-high") },
  };
  category.forEach((value, at) => { marks[`color-${at}`] = { color: value }; });
  return {
    aria: false,
    lineBreak: "\n",
    background: color("paper"),
    font: "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
    range: { category, heatmap: [color("heat-low"), color("heat-high")] },
    view: { stroke: null },
    axis: {
      labelColor: ink, titleColor: ink, titleFontWeight: 600, labelFontSize: 13, titleFontSize: 13,
      gridColor: grid, domainColor: line, tickColor: line, titlePadding: 8, labelPadding: 5,
    },
    axisBand: { grid: false },
    legend: {
      labelColor: ink, labelFontSize: 13, symbolStrokeWidth: 2.5, symbolSize: 160, rowPadding: 4, columnPadding: 18, offset: 8,
      layout: { top: { direction: "vertical", margin: 4, anchor: "start" } },
    },
    style: marks,
  };
}

// The share at which black and white numbers are equally legible on the colors of a confusion matrix.
function turned(spec) {
  const value = scheme.matches ? 0.27 : 0.53;
  const params = spec.params?.map((one) => (one.name === "turn" ? { ...one, value } : one));
  return params ? { ...spec, params } : spec;
}

// Vega-Lite reads texts of the tooltips of nearest points from the cell of the point, not from its values.
function mended(node) {
  if (Array.isArray(node)) return node.map(mended);
  if (node === null || typeof node !== "object") return node;
  const made = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, mended(value)]));
  const update = made.encode?.update;
  if (update?.isVoronoi && update.tooltip?.signal) {
    update.tooltip.signal = update.tooltip.signal.replace(/(?<!\.)\bdatum\[/g, "datum.datum[");
  }
  return made;
}

function patch(spec) {
  return { ...spec, marks: mended(spec.marks) };
}

async function draw(name) {
  const container = document.getElementById(`chart-${name}`);
  views.get(name)?.finalize();
  const result = await vegaEmbed(container, turned(specs[name]), {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, config: config(), patch,
    tooltip: { theme: "custom" },
  });
  views.set(name, result.view);
  container.dataset.ready = "true";
}

async function drawAll() {
  document.documentElement.dataset.scheme = scheme.matches ? "dark" : "light";
  for (const name of Object.keys(specs)) await draw(name);
  document.documentElement.dataset.drawn = document.documentElement.dataset.scheme;
}

async function save(name, format) {
  const link = document.createElement("a");
  link.href = await views.get(name).toImageURL(format, format === "png" ? 2 : 1);
  link.download = `${name}.${format}`;
  link.click();
}

for (const button of document.querySelectorAll("button.save")) {
  button.disabled = false;
  button.addEventListener("click", () => save(button.dataset.chart, button.dataset.format));
}
let drawing = drawAll();
scheme.addEventListener("change", () => { drawing = drawing.then(drawAll); });
