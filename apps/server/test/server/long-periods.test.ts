import { expect, it } from "vitest";
import { startServer } from "../start-server.js";
import { sleep } from "../raw-client/index.js";

it("a period of months is long, not none at all", async () => {
  const warnings: string[] = [];
  const note = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
  process.on("warning", note);
  const server = await startServer({
    config: {
      "heartbeat.interval": "60 days",
      "data_maintenance.messages.cleaner_enabled": true,
      "data_maintenance.messages.interval": "60 days",
      "personal_access_token.cleaner.enabled": true,
      "personal_access_token.cleaner.interval": "60 days",
      "logging.file_enabled": true,
      "logging.rotation_check_interval": "60 days",
      "logging.sysinfo_print_interval": "60 days",
      "message_bus.close_grace": "60 days",
      "message_bus.handshake_grace": "60 days",
    },
  });
  await sleep(20);
  await server.close();
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
