import { ErrorCode } from "@iggy/protocol";
import { IggyError } from "./iggy-error.js";

/** Metadata changes behind a position are evicted (`expired`), or the position is of another history (`reset`). */
export class MetadataHistoryError extends IggyError {
  static override readonly className: string = "MetadataHistoryError";
  readonly status: "expired" | "reset";

  constructor(status: "expired" | "reset") {
    const what = status === "expired" ? "changes behind this position are gone" : "the position is of another history";
    super(ErrorCode.HistoryUnavailable, what, {
      context: { status },
      hint: 'begin again with from: "current", or take rebuild: true',
    });
    this.status = status;
  }
}
