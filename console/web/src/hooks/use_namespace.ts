// SPDX-License-Identifier: Apache-2.0
// The namespace that is shown.

import { useRoute } from "./use_route";
import { useSession } from "./session";

export interface ChosenNamespace {
  namespace: string; // "": all
  // The user may not list namespaces, and has not named one: nothing can be asked.
  isMissing: boolean;
}

export function useNamespace(): ChosenNamespace {
  const namespace = useRoute().query["namespace"] ?? "";
  const { session } = useSession();
  return { namespace, isMissing: namespace === "" && session.namespacesUnread !== "" };
}
