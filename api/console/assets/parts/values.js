/** Values of metadata as one types them: numbers, yes and no, texts, and lists of texts. */

/** 3, true and "3" as one means them: quotes make a text of anything. */
export function plain(text) {
  if (/^".*"$/s.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The same, and `["a", "b"]` as a list. */
export function typed(text) {
  return listed(text) ?? plain(text);
}

/** What one would type for it. */
export function written(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return typed(value) === value ? value : `"${value}"`;
}

function listed(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
