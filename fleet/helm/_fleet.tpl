{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* Of both charts. Their annotations name the manifests; _manifests.tpl reads them. */ -}}

{{- /* objects: sets .state.objects to all objects, with the values but the namespace and image. */ -}}
{{- define "fleet.objects" -}}
{{- $in := . -}}
{{- $folder := printf "fleet/manifests/%s" .root.Chart.Annotations.manifests -}}
{{- include "placement.add" (merge (dict "folder" (printf "%s/base" $folder)) .) -}}
{{- range $name, $enabled := .root.Values.components -}}
  {{- if $enabled -}}
    {{- $component := printf "%s/components/%s" $folder $name -}}
    {{- include "placement.add" (dict "root" $in.root "state" $in.state "folder" $component) -}}
  {{- end -}}
{{- end -}}
{{- range $object := .state.objects -}}
  {{- if eq $object.kind "Deployment" -}}
    {{- include "placement.values" (dict "root" $in.root "object" $object) -}}
  {{- end -}}
  {{- if eq $object.kind "CustomResourceDefinition" -}}
    {{- include "placement.keep" (dict "object" $object) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* text: .object as YAML, with the release's namespace and the image. Names begin with the namespace of the files, so
only whole values are replaced. */ -}}
{{- define "fleet.text" -}}
{{- $root := .root -}}
{{- $text := printf "%s\n" (toYaml .object) -}}
{{- $old := printf "namespace: %s\n" $root.Chart.Annotations.namespace -}}
{{- $text = $text | replace $old (printf "namespace: %s\n" $root.Release.Namespace) -}}
{{- $program := printf "fleet-%s" $root.Chart.Annotations.manifests -}}
{{- $image := include "placement.image" (dict "root" $root "program" $program) -}}
{{- $old = printf "localhost/pod-placement/%s\n" $program -}}
{{- $text = $text | replace $old (printf "%s\n" $image) -}}
{{- trim $text -}}
{{- end -}}
