import * as z from 'zod'
import { type Metadata, type Pod, PodSchema } from './pod.ts'

const Named = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().default(''), namespace: z.string().optional() }),
})
const Template = z.looseObject({
  template: z.looseObject({ metadata: z.unknown().optional(), spec: z.unknown() }),
})
const CronTemplate = z.looseObject({ jobTemplate: z.looseObject({ spec: Template }) })

const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'ReplicationController', 'Job']

export type WorkloadPod = { readonly namespace: string | undefined; readonly pod: Pod }

/**
 * Returns the pod of a manifest: the manifest itself, or the pod that a controller would create from the template of a
 * workload. Null for any other kind. Throws a ZodError for an invalid manifest.
 */
export function podOf(manifest: unknown): WorkloadPod | null {
  const parsed = Named.safeParse(manifest)
  if (!parsed.success) return null
  const { kind, metadata } = parsed.data
  if (kind === 'Pod') return { namespace: metadata.namespace, pod: PodSchema.parse(manifest) }
  const template = templateOf(kind, parsed.data['spec'])
  if (template === null) return null
  return { namespace: metadata.namespace, pod: created(parsed.data, template) }
}

function templateOf(kind: string, spec: unknown): z.infer<typeof Template>['template'] | null {
  if (kind === 'CronJob') return CronTemplate.parse(spec).jobTemplate.spec.template
  return WORKLOADS.includes(kind) ? Template.parse(spec).template : null
}

function created(
  { apiVersion, kind, metadata: { name, namespace } }: z.infer<typeof Named>,
  template: z.infer<typeof Template>['template'],
): Pod {
  const given = (template.metadata ?? {}) as Metadata
  return PodSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...given,
      generateName: `${name}-`,
      ...(namespace !== undefined && { namespace }),
      ownerReferences: [{ apiVersion, kind, name, controller: true }],
    },
    spec: template.spec,
  })
}
