import { IggyError } from "@iggy/protocol";

/** The session of a credential is gone: the next write of the credential opens another one. */
export class SessionEvicted extends IggyError {}
