import { GroupApi } from "../api/groups.js";
import { FeatureUnavailableError } from "../errors/index.js";

/** Groups over HTTP: they are managed, not joined. */
export class HttpGroupApi extends GroupApi {
  /** Refused before anything is created. */
  override ensureAndJoin(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("group.ensureAndJoin needs a binary transport"));
  }
}
