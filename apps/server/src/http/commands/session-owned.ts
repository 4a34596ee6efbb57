import { ErrorCode, IggyError } from "@iggy/protocol";

/** The client id of the credential's session belongs to another user. */
export class SessionOwnedByOther extends IggyError {
  constructor() {
    super(ErrorCode.InvalidClientId, "the session id of this credential belongs to another user");
  }
}
