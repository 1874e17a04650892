// Python in a thread of its own: the page stays alive while a cell runs.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let page;

const tell = (kind, value) =>
  postMessage([kind, value?.toJs ? value.toJs() : value]);

async function unpack(python, name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  python.unpackArchive(await answer.arrayBuffer(), "zip");
}

const acts = {
  async start(archives) {
    const files = new URL("./pyodide/", import.meta.url).href;
    const python = await loadPyodide({ indexURL: files });
    for (const name of archives) await unpack(python, name);
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
