// SPDX-License-Identifier: Apache-2.0
// Every name of exec format errors that other programs can see.
#pragma once

#include <string_view>

namespace exec_format {

// Of a pod in which a file was started that is not for the node; kTrue. The label and the reason
// are those of the Go operator.
inline constexpr std::string_view kExecFormatErrorLabel =
    "multiarch.openshift.io/exec-format-error";
inline constexpr std::string_view kTrue = "true";
// The reason of the pod's event.
inline constexpr std::string_view kReasonExecFormatError = "ExecFormatError";

// The program on each node: its DaemonSet, ServiceAccount and container.
inline constexpr std::string_view kMonitorName = "exec-format-error-monitor";
// Their namespace, which the operator creates.
inline constexpr std::string_view kMonitorNamespace = "openshift-multiarch-exec-format-errors";
// The reason of its pod's event where the kernel does not let it see anything.
inline constexpr std::string_view kReasonNotMonitored = "ExecFormatErrorsNotMonitored";

}  // namespace exec_format
