"use strict";
// Before anything is painted: the scheme and density that were chosen here, or none.
for (const name of ["theme", "density"]) {
  const chosen = localStorage.getItem(`recollect.${name}`);
  if (chosen !== null) document.documentElement.dataset[name] = chosen;
}
