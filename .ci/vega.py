"""Write the script that draws the pictures of a report: python .ci/vega.py, with the group "release".

Needed where altair writes a newer Vega-Lite than the script has; a test says so. See that
``vega-licenses.txt`` beside it has the licenses of all packages in it.
"""

import gzip
from pathlib import Path

import vl_convert

PLACE = Path(__file__).parents[1] / "knnccv" / "reporting" / "templates" / "vega.js.gz"

versions = (
    f"vega {vl_convert.get_vega_version()}, vega-lite {vl_convert.get_vegalite_versions()[-1]}, "
    f"vega-embed {vl_convert.get_vega_embed_version()}"
)
script = f"/* {versions}; licenses: vega-licenses.txt of knnccv */\n{vl_convert.javascript_bundle()}"
# It stands in a page, between the tags of a script.
script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
PLACE.write_bytes(gzip.compress(script.encode(), mtime=0))
print(f"{PLACE}: {versions}, {len(script):,} characters")
