import { ANNOTATIONS } from '../capture/pod-contract.ts'
import type { Metadata, Owner } from './pod.ts'

/** Labels with which a controller of ReplicaSets marks the part that it added to the ReplicaSet's name. */
const HASH_LABELS = ['pod-template-hash', 'rollouts-pod-template-hash']
/** A CronJob names its Jobs after the minute since 1970 they were due: 2021 to 2046. */
const CRON_MINUTE = /-(2[7-9]|3\d|40)\d{6}$/

/**
 * The agent that a pod is: what its annotation says, else the name of the workload that a person wrote (the Deployment
 * behind a ReplicaSet, the CronJob behind a Job), else the pod's own.
 */
export function agentName(metadata: Metadata): string {
  const given = metadata.annotations?.[ANNOTATIONS.agent]
  if (given !== undefined) return given
  const owner = owningController(metadata)
  if (owner !== undefined) return workloadName(owner, metadata.labels ?? {})
  return metadata.name || (metadata.generateName ?? '').replace(/[-.]+$/, '') || 'agent'
}

/** The workload that a person wrote and a pod belongs to, `KIND NAME`; null for a pod that belongs to none. */
export function workloadOf(metadata: Metadata): string | null {
  const owner = owningController(metadata)
  if (owner === undefined) return null
  const name = workloadName(owner, metadata.labels ?? {})
  return `${KINDS_ABOVE[owner.kind] ?? owner.kind} ${name}`
}

/** Nobody writes a ReplicaSet with the name of a Deployment beside it. */
const KINDS_ABOVE: Readonly<Record<string, string>> = { ReplicaSet: 'Deployment' }

export function owningController({ ownerReferences = [] }: Metadata): Owner | undefined {
  return ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0]
}

function workloadName({ kind, name }: Owner, labels: Readonly<Record<string, string>>): string {
  if (kind === 'Job') return name.replace(CRON_MINUTE, '')
  if (kind !== 'ReplicaSet') return name
  const hash = HASH_LABELS.map((label) => labels[label]).find((value) => value && name.endsWith(`-${value}`))
  return hash === undefined ? name : name.slice(0, -hash.length - 1)
}

/** What Kubernetes adds to names has no vowels and no digits that look like one. */
const RANDOM = '[bcdfghjklmnpqrstvwxz2456789]'
/** Of pods of a Deployment; of a ReplicaSet, DaemonSet or Job; of a StatefulSet. */
const ADDED = [`-${RANDOM}{6,10}-${RANDOM}{5}$`, `-${RANDOM}{5}$`, '-[0-9]+$'].map((text) => new RegExp(text))

/**
 * The workload that a pod's name tells, for those who know no more of it: pods of one workload always give the same
 * answer, pods of two with different names hardly ever do.
 */
export function workloadByPodName(name: string): string {
  const added = ADDED.find((pattern) => pattern.test(name))
  return added === undefined ? name : name.replace(added, '').replace(CRON_MINUTE, '')
}
