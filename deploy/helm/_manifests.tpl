{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /*
A chart has the same files as `kubectl apply -k`: manifests and CRDs. These templates read them as kustomize does, as far
as operator/manifests/README.md allows. Templates cannot return objects, so each one changes the dict that it gets.
*/ -}}

{{- /* add: appends the objects of the kustomization in .folder to .state.objects, then patches. */ -}}
{{- define "placement.add" -}}
{{- $in := . -}}
{{- $text := .root.Files.Get (printf "%s/kustomization.yaml" .folder) -}}
{{- if not $text -}}{{- fail (printf "no file %s/kustomization.yaml" .folder) -}}{{- end -}}
{{- $file := fromYaml $text -}}
{{- range $file.resources -}}
  {{- $path := clean (printf "%s/%s" $in.folder .) -}}
  {{- if hasSuffix ".yaml" $path -}}
    {{- range splitList "\n---\n" ($in.root.Files.Get $path) -}}
      {{- $object := fromYaml . -}}
      {{- if not $object.kind -}}{{- fail (printf "%s: not an object: %s" $path .) -}}{{- end -}}
      {{- $_ := set $in.state "objects" (append $in.state.objects $object) -}}
    {{- end -}}
  {{- else -}}
    {{- include "placement.add" (dict "root" $in.root "state" $in.state "folder" $path) -}}
  {{- end -}}
{{- end -}}
{{- range $file.patches -}}
  {{- $patch := . -}}
  {{- $text := $patch.patch -}}
  {{- if $patch.path -}}
    {{- $text = $in.root.Files.Get (clean (printf "%s/%s" $in.folder $patch.path)) -}}
  {{- end -}}
  {{- $found := false -}}
  {{- range $object := $in.state.objects -}}
    {{- if and (eq $object.kind $patch.target.kind) (eq $object.metadata.name $patch.target.name) -}}
      {{- $found = true -}}
      {{- range fromYamlArray $text -}}
        {{- $tokens := splitList "/" (trimPrefix "/" .path) -}}
        {{- include "placement.patch" (dict "at" $object "tokens" $tokens "operation" .) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- if not $found -}}{{- fail (printf "no object for the patch of %v" $patch.target) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* patch: one JSON patch operation. Sets .at to the changed value at .tokens, relative to .at. */ -}}
{{- define "placement.patch" -}}
{{- $in := . -}}
{{- $op := .operation.op -}}
{{- $key := first .tokens | replace "~1" "/" | replace "~0" "~" -}}
{{- $last := eq (len .tokens) 1 -}}
{{- if kindIs "map" .at -}}
  {{- if and (not (hasKey .at $key)) (or (not $last) (ne $op "add")) -}}
    {{- fail (printf "patch: no field %s of %s" $key .operation.path) -}}
  {{- end -}}
  {{- if not $last -}}
    {{- $child := dict "at" (get .at $key) "tokens" (rest .tokens) "operation" .operation -}}
    {{- include "placement.patch" $child -}}
    {{- $_ := set .at $key $child.at -}}
  {{- else if eq $op "remove" -}}
    {{- $_ := unset .at $key -}}
  {{- else -}}
    {{- $_ := set .at $key .operation.value -}}
  {{- end -}}
{{- else if and $last (eq $key "-") (eq $op "add") -}}
  {{- $_ := set . "at" (append .at .operation.value) -}}
{{- else -}}
  {{- if or (not (regexMatch "^[0-9]+$" $key)) (and $last (ne $op "replace")) -}}
    {{- fail (printf "patch: cannot %s %s" $op .operation.path) -}}
  {{- end -}}
  {{- $list := list -}}
  {{- range $i, $value := .at -}}
    {{- if ne (toString $i) $key -}}
      {{- $list = append $list $value -}}
    {{- else if $last -}}
      {{- $list = append $list $in.operation.value -}}
    {{- else -}}
      {{- $child := dict "at" $value "tokens" (rest $in.tokens) "operation" $in.operation -}}
      {{- include "placement.patch" $child -}}
      {{- $list = append $list $child.at -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set . "at" $list -}}
{{- end -}}
{{- end -}}

{{- /* values: sets replicas, resources and args of the Deployment .object. */ -}}
{{- define "placement.values" -}}
{{- $spec := .object.spec -}}
{{- $container := first $spec.template.spec.containers -}}
{{- with .root.Values.replicas -}}{{- $_ := set $spec "replicas" . -}}{{- end -}}
{{- with .root.Values.resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- $_ := set $container "args" (concat $container.args .root.Values.args) -}}
{{- end -}}

{{- /* image: the reference of the image of .program. */ -}}
{{- define "placement.image" -}}
{{- $where := ternary "nodes" "registry" (eq .root.Values.registry "localhost") -}}
{{- $image := get (get (fromYaml (.root.Files.Get "images.yaml")) $where) .program -}}
{{- get .root.Values.images .program | default (printf "%s/%s" .root.Values.registry $image) -}}
{{- end -}}

{{- /* keep: says in .object, a CustomResourceDefinition, that `helm uninstall` keeps it: its deletion would delete the
objects of all users. */ -}}
{{- define "placement.keep" -}}
{{- $keep := dict "helm.sh/resource-policy" "keep" -}}
{{- $annotations := merge $keep (.object.metadata.annotations | default dict) -}}
{{- $_ := set .object.metadata "annotations" $annotations -}}
{{- end -}}
