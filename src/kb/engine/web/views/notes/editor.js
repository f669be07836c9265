// Writing a note: a new one at #/notes/new, or one that is there at #/notes/42/edit.

import { fill } from "../../kit/dom.js";
import { Editing } from "./editing.js";

export const title = "Note";

export function show(root, place) {
  let editing = new Editing(root, place);
  const move = (next) => {
    if (editing.isOf(next)) return editing.takeGivenText(next);
    editing.leave();
    editing = new Editing(fill(root), next);
    return editing;
  };
  return {
    update: move,
    leave: () => editing.leave(),
    // The form has these keys for itself, also while somebody types; here they are only told of.
    shortcuts: [
      { keys: "Mod+s", does: "Save", run: () => editing.save({ stays: true }) },
      { keys: "Mod+Enter", does: "Save and close", run: () => editing.save({ stays: false }) },
      { keys: "Escape", does: "Leave", run: () => editing.askToLeave() },
    ],
  };
}
