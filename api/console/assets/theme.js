"use strict";
// Before anything is painted: the scheme that was chosen here, or none, which leaves it to the system.
{
  const chosen = localStorage.getItem("recollect.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
