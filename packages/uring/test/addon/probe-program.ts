import { probe } from "../../src/index.js";
import { load } from "../support/ring-setup.js";

console.log(JSON.stringify(probe(load)));
