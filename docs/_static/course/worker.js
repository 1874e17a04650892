// Python in a thread of its own: the page stays alive while a cell runs.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let page;

const tell = (kind, value) =>
  postMessage([kind, value?.toJs ? value.toJs() : value]);

const acts = {
  async start(archives) {
    const answers = archives.map((name) => fetch(new URL(name, import.meta.url)));
    const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
    for (const answer of answers) python.unpackArchive(await (await answer).arrayBuffer(), "zip");
    page = python.pyimport("page");
    page.post = tell;
  },
  async run([source, number]) {
    return page.run(source, number);
  },
  async redraw([number, places]) {
    return page.redraw(number, places);
  },
};

onmessage = async ({ data: [act, value] }) => {
  try {
    tell("done", await acts[act](value));
  } catch (error) {
    tell("failed", String(error));
  }
};
