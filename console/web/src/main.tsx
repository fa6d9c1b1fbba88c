// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { takeTokenFromAddress } from "./api/token";
import { App } from "./app";

takeTokenFromAddress();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
