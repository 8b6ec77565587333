"use strict";
// Before anything is painted: the scheme that was chosen in the console, or the system's.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = localStorage.getItem("recollect.theme");
    document.documentElement.classList.toggle("dark-mode", chosen === null ? system.matches : chosen === "dark");
  };
  apply();
  system.addEventListener("change", apply);
}
