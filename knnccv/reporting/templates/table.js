const report = JSON.parse(document.getElementById("report-data").textContent);
const LONG = 40;

// Control characters as the symbols that the page itself shows, halves of pairs as replacement characters.
function visible(value) {
  return Array.from(String(value), (sign) => {
    const code = sign.codePointAt(0);
    if (code < 32 && sign !== "\t" && sign !== "\n") return String.fromCodePoint(0x2400 + code);
    if (code === 127) return "\u2421";
    const turns = (code >= 0x202a && code <= 0x202e) || code === 0x2066 || code === 0x2067;
    return turns || (code >= 128 && code < 160) || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : sign;
  }).join("");
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function text(value) {
  const shown = visible(value ?? "");
  const made = element("bdi", { class: "text" }, shown);
  if (shown.length > LONG) {
    made.className = "text long";
    made.tabIndex = 0;
  }
  return made;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4))).replace(/^-/, "−");
}

async function copy(content) {
  try {
    await navigator.clipboard.writeText(content);
  } catch {
    const area = element("textarea", { "aria-hidden": "true" });
    area.value = content;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A row per column of the table, so that an item and its neighbors stand side by side.
function neighborTable(item) {
  const names = report.data.feature_names;
  const others = item.neighbors;
  const title = (label) => element("th", { scope: "col" }, ...label);
  const head = element("tr", {}, element("th", { scope: "col" }, "column"),
    ...[item, ...others].map((one) => title([`sample ${one.index}${"line" in one ? `, line ${one.line}` : ""}`])));
  const line = (name, cells) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  const whole = (label) => (report.task === "regression" ? label.replace(/\.0$/, "") : label);
  const cell = (value) => element("td", {}, text(value));
  const labelCell = (value) => element("td", value === item.label ? {} : { class: "differs" }, text(whole(value)));
  const body = element("tbody", {},
    line(report.task === "regression" ? "target" : "label",
      [cell(whole(item.label)), ...others.map((other) => labelCell(other.label))]),
    line("distance", [element("td", {}, "–"), ...others.map((o) => element("td", {}, number(o.distance)))]));
  if ("group" in item) body.append(line("group", [item, ...others].map((one) => cell(one.group))));
  item.row.forEach((value, at) => {
    const cells = [value, ...others.map((other) => other.row[at])].map(cell);
    const name = names[at] ?? `column ${at}`;
    body.append(line(text(name.trim() ? name : "(empty)"), cells));
  });
  const label = `Sample ${item.index} beside its nearest neighbors`;
  const caption = report.task === "regression" ? label : `${label}; labels unlike its own are bold`;
  const table = element("table", {}, element("caption", {}, caption),
    element("thead", {}, head), body);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}

function toggle(button, group, item) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  button.textContent = open ? "show" : "hide";
  button.setAttribute("aria-label", `${open ? "Show" : "Hide"} the neighbors of sample ${item.index}`);
  if (open) {
    group.querySelector(".neighbors").remove();
  } else {
    group.append(element("tr", { class: "neighbors" }, element("td", { colspan: String(group.rows[0].cells.length) }, neighborTable(item))));
  }
}

function compare(first, second) {
  if (first === null || second === null) return (first === null) - (second === null);
  if (typeof first === "number" && typeof second === "number") return first - second;
  return String(first).localeCompare(String(second), "en", { numeric: true });
}

// All items with a reason, also those that are not listed. No cell holds text of the data, which a
// spreadsheet could take for a formula.
function allIndices() {
  const reasons = new Map();
  const duplicate = `duplicate with another ${report.task === "regression" ? "target" : "label"}`;
  const words = { never_right: "never right", suspicious: "suspicious label",
    conflicting_duplicates: duplicate, worst_residuals: "large expected error" };
  for (const [reason, indices] of Object.entries(report.items.indices)) {
    for (const index of indices) reasons.set(index, [...(reasons.get(index) ?? []), words[reason] ?? reason]);
  }
  const rows = [...reasons].sort(([first], [second]) => first - second);
  return ["index,reasons", ...rows.map(([index, why]) => `${index},${why.join("; ")}`)].join("\n") + "\n";
}

function itemTable(table) {
  const items = report.items.items;
  const lined = items[0]?.line !== undefined;
  const groups = [...table.tBodies].map((body) => ({ body, item: items[Number(body.dataset.item)] }));
  for (const group of groups) {
    const { item } = group;
    const cells = [item.index, item.group ?? "", item.label, ...item.reasons, ...item.row];
    group.words = cells.join("\n").toLowerCase();
    const button = group.body.querySelector("button.more");
    button.disabled = false;
    button.addEventListener("click", () => toggle(button, group.body, item));
  }
  const search = document.getElementById("item-search");
  const reason = document.getElementById("item-reason");
  const found = document.getElementById("items-found");
  const reasons = [...new Set(items.flatMap((item) => item.reasons))];
  reason.append(...reasons.map((name) => element("option", { value: name }, visible(name))));

  function shown() {
    return groups.filter(({ body }) => !body.hidden).map(({ item }) => item);
  }
  function filter() {
    const words = search.value.toLowerCase();
    for (const group of groups) {
      const fits = !reason.value || group.item.reasons.includes(reason.value);
      group.body.hidden = !(fits && group.words.includes(words));
    }
    const count = shown().length;
    found.textContent = `${count} of ${groups.length} samples shown`;
  }
  function sort(header) {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = ({ item }) => {
      const part = item[header.dataset.key];
      return Array.isArray(part) ? part.join(", ") : part;
    };
    groups.sort((first, second) => {
      const [one, two] = [value(first), value(second)];
      const missing = one === null || two === null;
      return missing || ascending ? compare(one, two) : compare(two, one);
    });
    table.append(...groups.map(({ body }) => body));
  }

  for (const header of table.tHead.querySelectorAll("th[data-key]")) {
    const button = element("button", { type: "button" }, ...header.childNodes);
    button.addEventListener("click", () => sort(header));
    header.append(button);
  }
  for (const control of [search, reason]) {
    control.disabled = false;
    control.addEventListener("input", filter);
  }
  search.form.addEventListener("submit", (event) => event.preventDefault());
  const exports = {
    "items-csv": () => download("samples.csv", "text/csv", [`index,${lined ? "line," : ""}score,influence,reasons`, ...shown().map(
      (item) => [item.index, ...(lined ? [item.line] : []), item.score, item.influence, `"${item.reasons.join("; ").replaceAll('"', '""')}"`].join(),
    )].join("\n") + "\n"),
    "items-json": () => download("samples.json", "application/json", JSON.stringify(shown().map(
      ({ index, line, group, score, influence, reasons: why }) => ({ index, line, group, score, influence, reasons: why }),
    ), null, 1)),
    "items-all": () => download("indices.csv", "text/csv", allIndices()),
    "items-copy": async () => {
      const indices = shown().map((item) => item.index);
      await copy(JSON.stringify(indices));
      found.textContent = `${indices.length} indices copied`;
    },
  };
  for (const [id, action] of Object.entries(exports)) {
    const button = document.getElementById(id);
    if (!button) continue;
    button.disabled = false;
    button.addEventListener("click", action);
  }
  filter();
}

const table = document.getElementById("item-table");
if (table) itemTable(table);
const copyCode = document.getElementById("copy-code");
copyCode.disabled = false;
copyCode.addEventListener("click", async () => {
  await copy(document.getElementById("code").textContent);
  document.getElementById("code-copied").textContent = "copied";
});
document.documentElement.dataset.table = "ready";
