// Runs at installation, never fails it and is quiet: prebuilt addons come with the package. `IGGY_QUIC_BUILD=1` asks for
// one made here, which needs cargo and about a minute.
import { build } from "./build.mjs";

if (process.env.IGGY_QUIC_BUILD === "1") {
  const problem = build();
  if (problem !== undefined) console.log(`@iggy/quic: no native addon, so no QUIC (${problem})`);
}
