/** Icons of the navigation and of buttons: strokes on a grid of 16. */

import { svg } from "./dom.js";

const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.7-1.3L14 14",
  documents: "M4 2h5l3.5 3.5V14H4zm5 0v3.5h3.5M6 8.5h4.5M6 11h4.5",
  memories: "M8 2.5 13.5 5 8 7.5 2.5 5zM2.5 8 8 10.5 13.5 8M2.5 11 8 13.5 13.5 11",
  graph: "M5.6 4.6 10.4 7M5.6 11.4 10.4 9M4 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm8-4.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  review: "M2.5 9.5 4.5 3h7l2 6.5V13h-11zm0 0h3l1 1.5h3l1-1.5h3",
  profile: "M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zm-5.5 6c.4-2.6 2.6-4 5.5-4s5.1 1.4 5.5 4",
  questions: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.4 8.6 8 9 8 10M8 12.5v.5",
  connectors: "M6 2v3M10 2v3M4 5h8v2.5a4 4 0 0 1-8 0zM8 11.5V14",
  settings: "M2 4.5h6M11.5 4.5H14M2 11.5h2.5M8 11.5h6M9.75 6.25a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5zm-3.5 7a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5z",
  namespaces: "M2 4.5V13h12V5.5H7.5L6 3H2z",
  organization: "M3 14V3h6v11M9 7h4v7M2 14h12M5.5 6h1M5.5 8.5h1M5.5 11h1",
  pipeline: "M2 8h3l2-5 2.5 10L11.5 8H14",
  keys: "M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2 12v2h2.5v-1.5H6V11h1.3l1.5-1.5c.5-.3 1.1-.5 1.7-.5z",
  usage: "M3 14V8.5M8 14V2.5M13 14V6",
  audit: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.5l2.3 1.3",
  plus: "M8 3v10M3 8h10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  download: "M8 2.5V10M4.5 7 8 10.5 11.5 7M3 13.5h10",
  edit: "M3 13l.7-2.9L10.8 3 13 5.2 5.9 12.3zM9.5 4.3l2.2 2.2",
  check: "M3 8.5 6.5 12 13 4.5",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}
