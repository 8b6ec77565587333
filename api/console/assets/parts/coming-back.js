/** What the address says to whoever comes back from the page of a provider. It stands before the #, and is told once. */

import { here } from "../addresses.js";
import { el } from "../dom.js";
import { ask } from "./dialogs.js";
import { button } from "./forms.js";

export function comingBack(app) {
  const told = new URLSearchParams(location.search);
  const [connector, error] = [told.get("connector"), told.get("error")];
  if (connector === null && error === null) return;
  history.replaceState(null, "", location.pathname + location.hash);
  if (error === null) {
    app.go([...here().parts.slice(0, 3), connector]);
    app.say("It is connected, and runs for the first time.");
    return;
  }
  ask("Not connected", (close) => [
    el("p", {}, told.get("error_description") ?? error),
    el("p.muted", {}, "Connect it again when the cause is gone."),
    el("div.actions", {}, button("Close", () => close(null), { autofocus: true })),
  ]);
}
