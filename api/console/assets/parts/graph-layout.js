/** Places of a memory graph: each name with its memories around it, the largest groups in the middle. */

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const SPACING = 36;

/**
 * Lay out groups on a spiral, and the memories of each on a spiral around its name. Takes time in proportion to the nodes.
 * `memories`: their number; `names`: each with the places of its memories. Returns points by place, and by name.
 */
export function placeNodes(memories, names) {
  const groups = groupByName(memories, names).sort((left, right) => right.members.length - left.members.length);
  const points = { memories: Array.from({ length: memories }), names: Array.from({ length: names.length }) };
  let covered = 0;
  for (const [at, group] of groups.entries()) {
    const radius = SPACING * (Math.sqrt(group.members.length) + 1.5);
    const distance = at === 0 ? 0 : 1.25 * Math.sqrt(covered) + radius;
    const centre = turned(distance, at * GOLDEN_ANGLE, { x: 0, y: 0 });
    covered += radius ** 2;
    if (group.name !== null) points.names[group.name] = centre;
    for (const [number, memory] of group.members.entries()) {
      points.memories[memory] = turned(SPACING * Math.sqrt(number + 1.5), number * GOLDEN_ANGLE, centre);
    }
  }
  return points;
}

/** Each memory belongs to the rarest name in it, which tells most about it; those without a name are a group too. */
function groupByName(memories, names) {
  const owner = Array.from({ length: memories }).fill(null);
  for (const [at, { memories: members }] of names.entries()) {
    for (const memory of members) owner[memory] = at;
  }
  const groups = names.map((_, at) => ({ name: at, members: [] }));
  const unnamed = { name: null, members: [] };
  for (const [memory, at] of owner.entries()) (at === null ? unnamed : groups[at]).members.push(memory);
  return unnamed.members.length > 0 ? [...groups, unnamed] : groups;
}

function turned(distance, angle, { x, y }) {
  return { x: x + distance * Math.cos(angle), y: y + distance * Math.sin(angle) };
}
