import type { Container, Pod } from './pod.ts'
import { annotationField, type Refusal, refusal } from './refusals/refusal.ts'

/**
 * Pod label that adds the pod to Istio's ambient mode or excludes it. istio-cni also reads the label of running pods.
 */
export const AMBIENT_LABEL = 'istio.io/dataplane-mode'
/**
 * Pod label that overrides the setting of the namespace. If the label is absent, Istio reads an annotation of the same
 * name.
 */
const ISTIO_INJECT = 'sidecar.istio.io/inject'
const LINKERD_INJECT = 'linkerd.io/inject'

/** Labels and annotations that exclude a pod from service meshes, regardless of the settings of its namespace. */
const OPT_OUT_LABELS = { [ISTIO_INJECT]: 'false', [AMBIENT_LABEL]: 'none' } as const
const OPT_OUT_ANNOTATIONS = { [LINKERD_INJECT]: 'disabled' } as const

type Metadata = Pod['metadata']

/**
 * Returns the metadata with the opt-outs of the service meshes, because only one proxy can capture the traffic of a
 * pod.
 */
export function outsideMeshes(metadata: Metadata): Metadata {
  return {
    ...metadata,
    labels: { ...metadata.labels, ...OPT_OUT_LABELS },
    annotations: { ...metadata.annotations, ...OPT_OUT_ANNOTATIONS },
  }
}

/** Values of Istio's setting that request injection, in lower case. */
const ISTIO_YES = ['true', 'yes', 'y', 'on']
const WHY = 'and only one proxy can capture the traffic of a pod'

/** Returns the settings with which the author of a pod requests a service mesh for it. */
export function meshOptIns({ metadata }: Pod): readonly Refusal[] {
  const { labels = {}, annotations = {} } = metadata
  const settings: ReadonlyArray<readonly [field: string, mesh: string, isOptIn: boolean]> = [
    [labelField(ISTIO_INJECT), 'Istio', isYes(labels[ISTIO_INJECT])],
    [labelField(AMBIENT_LABEL), "Istio's ambient mode", labels[AMBIENT_LABEL] === 'ambient'],
    [annotationField(ISTIO_INJECT), 'Istio', isYes(annotations[ISTIO_INJECT])],
    [
      annotationField(LINKERD_INJECT),
      'Linkerd',
      ['enabled', 'ingress'].includes(annotations[LINKERD_INJECT] ?? ''),
    ],
  ]
  return settings
    .filter(([, , isOptIn]) => isOptIn)
    .map(([field, mesh]) =>
      refusal(
        field,
        `the pod requests the proxy of ${mesh}, ${WHY}`,
        'remove it; a governed pod stays outside of the mesh and reaches its services as a client from outside does (docs/service-mesh.md)',
      ),
    )
}

function isYes(value = ''): boolean {
  return ISTIO_YES.includes(value.toLowerCase())
}

function labelField(name: string): string {
  return `metadata.labels[${name}]`
}

type Mesh = { readonly name: string; readonly containers: readonly string[]; readonly optOut: string }

const MESHES: readonly Mesh[] = [
  {
    name: 'Istio',
    containers: ['istio-init', 'istio-validation', 'istio-proxy'],
    optOut: `the label ${ISTIO_INJECT}: "false"`,
  },
  {
    name: 'Linkerd',
    containers: ['linkerd-init', 'linkerd-network-validator', 'linkerd-proxy'],
    optOut: `the annotation ${LINKERD_INJECT}: disabled`,
  },
]

/**
 * Returns the refusal of a container that the webhook of a service mesh added before the injector; null for any other.
 */
export function meshContainer({ name }: Container, path: string): Refusal | null {
  const mesh = MESHES.find(({ containers }) => containers.includes(name))
  if (mesh === undefined) return null
  return refusal(
    path,
    `${name} is a container of ${mesh.name}, whose webhook was called before the injector, ${WHY}`,
    `set ${mesh.optOut} in the pod template, which the injector could only add afterwards (docs/service-mesh.md)`,
  )
}
