import { stringify } from 'yaml'
import type { PolicyDocument } from '../../../core/crd/policy/policy-document.ts'
import { emptyGroupWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { PolicyCheckReply } from '../../../core/wire/policies.ts'
import { usageError } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, type Invocation, text } from '../command.ts'
import { readRunFile } from '../state/data-folder.ts'

export type GroupCheck = {
  /**
   * Warnings about approver groups without members: one list per policy, in the order of the policies. Each warning is
   * a sentence.
   */
  readonly warnings: ReadonlyArray<readonly string[]>
  readonly outcome: GroupOutcome
}

/**
 * Result of the group check. `none`: no policy names an approver group. `unchecked`: no control plane is available.
 * `failed`: the control plane of CHAPERONE_URL or of this machine did not answer.
 */
export type GroupOutcome =
  | { readonly kind: 'none' | 'checked' }
  | { readonly kind: 'unchecked' | 'failed'; readonly reason: string }

const NO_SOURCE =
  'no control plane runs on this machine and CHAPERONE_URL is not set. Give the groups with members: --groups NAME,...'

export type CheckedPolicy = {
  readonly document: PolicyDocument
  /** Warnings that were found without a control plane. */
  readonly warnings: readonly string[]
  /** Namespace of the manifest, if it has one. */
  readonly namespace: string | undefined
}

/**
 * Finds approver groups without members. Uses the groups of the option `--groups` if given, otherwise the control
 * plane of CHAPERONE_URL or of this machine.
 */
export async function checkGroups(
  command: Command,
  invocation: Invocation,
  policies: readonly CheckedPolicy[],
): Promise<GroupCheck> {
  const without = (outcome: GroupOutcome): GroupCheck => ({ warnings: policies.map(() => []), outcome })
  const given = givenGroups(command, invocation)
  if (!policies.some(({ document }) => namesGroups(document))) return without({ kind: 'none' })
  if (given !== undefined)
    return {
      warnings: policies.map(({ document }) => emptyGroupWarnings(document, given, notGiven)),
      outcome: { kind: 'checked' },
    }
  if (!invocation.env['CHAPERONE_URL'] && readRunFile(invocation.folder) === undefined)
    return without({ kind: 'unchecked', reason: NO_SOURCE })
  try {
    const api = userClient(invocation)
    const warnings: (readonly string[])[] = []
    for (const policy of policies)
      warnings.push(namesGroups(policy.document) ? await remoteWarnings(api, policy) : [])
    return { warnings, outcome: { kind: 'checked' } }
  } catch (error) {
    if (error instanceof ChaperoneError) return without({ kind: 'failed', reason: error.message })
    throw error
  }
}

function notGiven(group: string): string {
  return `The group "${group}" is not one of --groups.`
}

function givenGroups(command: Command, invocation: Invocation): ReadonlySet<string> | undefined {
  const given = text(invocation, 'groups')
  if (given === undefined) return undefined
  const names = given.split(',').map((name) => name.trim())
  if (names.includes(''))
    throw usageError(command, '--groups contains an empty name. Usage: --groups NAME,NAME.')
  return new Set(names)
}

function namesGroups({ rules }: PolicyDocument): boolean {
  return rules.some(({ approver_groups: groups }) => groups.length > 0)
}

/** Returns the warnings of the control plane that the offline checks have not found. */
async function remoteWarnings(
  api: ApiClient,
  { document, warnings: known, namespace }: CheckedPolicy,
): Promise<readonly string[]> {
  const policyYaml = stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
  const body = { policyYaml, ...(namespace === undefined ? {} : { namespace }) }
  const answer = PolicyCheckReply.safeParse(await api.call('POST', '/api/dashboard/policies/check', body))
  if (!answer.success)
    throw new ChaperoneError('not_ready', {
      detail: `The server at ${new URL(api.url).origin} is not a control plane of this version. Check the address.`,
    })
  const { warnings, problems } = answer.data
  const [problem] = problems
  if (problem !== undefined)
    throw new ChaperoneError('conflict', {
      detail: `The control plane cannot parse the policy (${problem.message}). Correct the policy, or use a command of the same version as the control plane.`,
    })
  return warnings.filter((warning) => !known.includes(warning))
}
