// Colours of Python code, with the class names of Pygments.
const PARTS =
  /(?<c1>#[^\n]*)|(?<s2>[frb]*(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?<kc>\b(?:None|True|False)\b)|(?<k>\b(?:and|as|assert|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b)|(?<nb>\b(?:abs|all|any|dict|enumerate|float|int|len|list|map|max|min|next|print|range|reversed|round|set|sorted|str|sum|super|tuple|zip)\b)|(?<mf>\b\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?\b)/g;

/** Puts `code` into `element`, with colours. */
export function colour(element, code) {
  const parts = [];
  let end = 0;
  for (const match of code.matchAll(PARTS)) {
    const [name] = Object.entries(match.groups).find(([, text]) => text !== undefined);
    const span = document.createElement("span");
    span.className = name;
    span.textContent = match[0];
    parts.push(code.slice(end, match.index), span);
    end = match.index + match[0].length;
  }
  element.replaceChildren(...parts, code.slice(end));
}
