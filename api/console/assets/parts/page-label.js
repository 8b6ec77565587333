/** The page, slide or sheet of a passage, which its metadata names by the document's type. */

const NOUNS = { pdf: "page", pptx: "slide", xlsx: "sheet", xls: "sheet", ods: "sheet" };

/** "page 12", "pages 12-13", "sheet Budget"; null where it is not known. */
export function pageLabel(type, metadata) {
  const noun = NOUNS[type];
  const label = metadata?.[noun];
  if (label === undefined) return null;
  const several = noun !== "sheet" && String(label).includes("-");
  return `${noun}${several ? "s" : ""} ${label}`;
}
