import * as z from 'zod'
import { ANNOTATIONS } from '../capture/pod-contract.ts'
import type { OwnedMetadata, Owner } from './pod.ts'

/** Labels that contain the suffix which a controller adds to the names of a ReplicaSet and its pods. */
const HASH_LABELS = ['pod-template-hash', 'rollouts-pod-template-hash']
/**
 * Matches the suffix of Job names that a CronJob adds: the scheduled time in minutes since 1970, from May 2021 to
 * December 2047.
 */
const CRON_MINUTE = /-(2[7-9]|3\d|40)\d{6}$/

/**
 * Returns the agent of a pod: its annotation, else the name of the user-created workload (the Deployment of a
 * ReplicaSet, the CronJob of a Job), else the pod's own name.
 */
export function agentName(metadata: OwnedMetadata): string {
  const given = metadata.annotations?.[ANNOTATIONS.agent]
  if (given !== undefined) return given
  const owner = owningController(metadata)
  if (owner !== undefined) return workloadName(owner, metadata.labels ?? {})
  return metadata.name || (metadata.generateName ?? '').replace(/[-.]+$/, '') || 'agent'
}

/** Returns the workload that a user created for the pod, as `KIND NAME`; null if the pod has no workload. */
export function workloadOf(metadata: OwnedMetadata): string | null {
  const owner = owningController(metadata)
  if (owner === undefined) return null
  const name = workloadName(owner, metadata.labels ?? {})
  return `${KINDS_ABOVE[owner.kind] ?? owner.kind} ${name}`
}

/**
 * Returns the workload of a governed pod: the workload in the injector's annotation, else the result of `workloadOf`.
 * Must be called only for pods after admission, because authors can forge the annotation of a new pod.
 */
export function governedWorkload(metadata: OwnedMetadata): string | null {
  return (
    Recorded.safeParse(parsed(metadata.annotations?.[ANNOTATIONS.injected])).data?.workload ??
    workloadOf(metadata)
  )
}

const Recorded = z.object({ workload: z.string() })

function parsed(text = 'null'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // An annotation that is not JSON was not written by the injector, and is ignored.
    return null
  }
}

/** Kinds that users create, keyed by the owned kind that users do not create themselves. */
const KINDS_ABOVE: Readonly<Record<string, string>> = { ReplicaSet: 'Deployment' }

export function owningController({ ownerReferences = [] }: OwnedMetadata): Owner | undefined {
  return ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0]
}

function workloadName({ kind, name }: Owner, labels: Readonly<Record<string, string>>): string {
  if (kind === 'Job') return name.replace(CRON_MINUTE, '')
  if (kind !== 'ReplicaSet') return name
  const hash = HASH_LABELS.map((label) => labels[label]).find((value) => value && name.endsWith(`-${value}`))
  return hash === undefined ? name : name.slice(0, -hash.length - 1)
}
