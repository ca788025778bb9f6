import * as z from 'zod'
import { inSpellingOfDocument } from '../../../../core/crd/policy/policy-spelling.ts'
import { noAccount } from '../../../../core/decision/policies/policy-warnings.ts'
import type { ClusterGroups } from '../../approvals/answers/answerable-sets.ts'

/**
 * The approver groups that a Policy names. `namespace`: namespace of the agents to which the Policy applies; '' for
 * agents in all namespaces.
 */
export type GroupsNamed = { readonly namespace: string; readonly spec: unknown }

/**
 * Cache of the cluster's replies whether RBAC lets an approver group answer approvals. Contains only groups without a
 * member among the accounts of the installation, because only the authenticator of the cluster knows the members of
 * these groups.
 */
export type GroupMembers = {
  /**
   * Reviews whether RBAC lets the groups without accounts answer approvals, and waits at most 2 s for the cluster.
   * Rejects only when `policies` or the accounts cannot be read. Must not be called inside a transaction.
   */
  ask(policies: () => Promise<readonly GroupsNamed[]>): Promise<void>
  /**
   * Returns a function that returns a sentence to warn about a group without accounts. The function returns null when
   * RBAC lets the group answer approvals.
   */
  absence(namespace: string): (group: string) => string | null
}

export type GroupMembersDeps = {
  readonly clusterGroups: ClusterGroups
  /** Returns the groups that contain at least one account. */
  readonly accounts: () => Promise<ReadonlySet<string>>
  readonly nowMs: () => number
}

/** The `GroupMembers` of installations outside a cluster, where only accounts can be members of groups. */
export const ACCOUNTS_ONLY: GroupMembers = { ask: async () => {}, absence: () => noAccount }

const ASK_MS = 2_000
/** Cache time of a review in milliseconds. */
const KNOWN_MS = 10_000
const AT_ONCE = 8
const MAX_KNOWN = 10_000

export function createGroupMembers({ clusterGroups, accounts, nowMs }: GroupMembersDeps): GroupMembers {
  const known = new Map<string, { readonly isAllowed: boolean; readonly atMs: number }>()
  const isOld = ({ group, namespace }: AskedGroup) => {
    const answer = known.get(keyOf(group, namespace))
    return answer === undefined || nowMs() - answer.atMs >= KNOWN_MS
  }
  const askOne = async ({ group, namespace }: AskedGroup) => {
    const isAllowed = await clusterGroups(group, namespace).catch(() => null)
    if (isAllowed === null) return
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(keyOf(group, namespace), { isAllowed, atMs: nowMs() })
  }
  return {
    async ask(policies) {
      const named = (await policies()).flatMap(groupsIn)
      if (named.length === 0) return
      const members = await accounts()
      const until = nowMs() + ASK_MS
      const wanted = distinct(named).filter((one) => !members.has(one.group) && isOld(one))
      for (let at = 0; at < wanted.length && nowMs() < until; at += AT_ONCE)
        await within(until - nowMs(), Promise.all(wanted.slice(at, at + AT_ONCE).map(askOne)))
    },
    absence: (namespace) => (group) => {
      const answer = known.get(keyOf(group, namespace))
      if (answer?.isAllowed === true) return null
      return `No account is in the group "${group}", and ${answer === undefined ? NOT_RESOLVED : notAllowed(namespace)}.`
    },
  }
}

const NOT_RESOLVED = 'the cluster has not answered whether RBAC lets the group answer approvals'

function notAllowed(namespace: string): string {
  const where = namespace === '' ? 'all namespaces' : `namespace ${namespace}`
  return `RBAC does not let the group answer approvals in ${where}`
}

function keyOf(group: string, namespace: string): string {
  return `${namespace}/${group}`
}

function within(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, ms))
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    work.then(done, done)
  })
}

type AskedGroup = { readonly group: string; readonly namespace: string }

const Rules = z.looseObject({
  rules: z.array(
    z.looseObject({ approver_groups: z.array(z.string()).catch([]) }).catch({ approver_groups: [] }),
  ),
})

/**
 * Returns the approver groups in a policy document or in the spec of a Policy. Returns none when the text cannot be
 * parsed.
 */
function groupsIn({ namespace, spec }: GroupsNamed): readonly AskedGroup[] {
  const parsed = Rules.safeParse(inSpellingOfDocument(spec))
  if (!parsed.success) return []
  return parsed.data.rules.flatMap((rule) => rule.approver_groups.map((group) => ({ group, namespace })))
}

function distinct(asked: readonly AskedGroup[]): readonly AskedGroup[] {
  return [...new Map(asked.map((one) => [keyOf(one.group, one.namespace), one])).values()]
}
