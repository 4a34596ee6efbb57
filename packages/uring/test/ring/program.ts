// What the programs beside this file begin with: a ring without a test runner around it.
import { load, openUring, type Uring } from "../support/ring-setup.js";

export function openForProgram(): Uring {
  const { addon } = load();
  if (addon === undefined) throw new Error("no addon");
  return openUring(addon);
}
