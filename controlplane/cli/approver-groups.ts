import { stringify } from 'yaml'
import type { PolicyDocument } from '../../core/crd/schemas.ts'
import { emptyGroupWarnings } from '../../core/decision/policy-warnings.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { PolicyCheckReply } from '../../core/wire/governance.ts'
import { usageError } from './arguments.ts'
import type { ApiClient } from './client.ts'
import { type Command, type Invocation, text } from './command.ts'
import { readRunFile } from './data-folder.ts'
import { userClient } from './user-client.ts'

export type GroupCheck = {
  /** About approver groups without members, by the position of the policy. Full sentences. */
  readonly warnings: ReadonlyArray<readonly string[]>
  /** Why approver groups were not checked; null when they were, or no policy names one. */
  readonly unchecked: string | null
}

const NO_SOURCE =
  'no control plane runs here and CHAPERONE_URL is not set. Name the groups that have members: --groups NAME,...'

/**
 * Finds approver groups without members: by `--groups`, else by the control plane of CHAPERONE_URL or of this machine.
 * `known` are the warnings of the documents that need no control plane.
 */
export async function checkGroups(
  command: Command,
  invocation: Invocation,
  policies: ReadonlyArray<{ readonly document: PolicyDocument; readonly warnings: readonly string[] }>,
): Promise<GroupCheck> {
  const none = policies.map(() => [])
  const given = givenGroups(command, invocation)
  if (given !== undefined)
    return {
      warnings: policies.map(({ document }) => emptyGroupWarnings(document, given)),
      unchecked: null,
    }
  if (!policies.some(({ document }) => namesGroups(document))) return { warnings: none, unchecked: null }
  if (!invocation.env['CHAPERONE_URL'] && readRunFile(invocation.folder) === undefined)
    return { warnings: none, unchecked: NO_SOURCE }
  try {
    const api = userClient(invocation)
    const warnings: (readonly string[])[] = []
    for (const { document, warnings: known } of policies)
      warnings.push(namesGroups(document) ? await askFor(api, document, known) : [])
    return { warnings, unchecked: null }
  } catch (error) {
    if (error instanceof ChaperoneError) return { warnings: none, unchecked: error.message }
    throw error
  }
}

function givenGroups(command: Command, invocation: Invocation): ReadonlySet<string> | undefined {
  const given = text(invocation, 'groups')
  if (given === undefined) return undefined
  const names = given.split(',').map((name) => name.trim())
  if (names.includes('')) throw usageError(command, '--groups holds an empty name: --groups NAME,NAME.')
  return new Set(names)
}

function namesGroups({ rules }: PolicyDocument): boolean {
  return rules.some(({ approver_groups: groups }) => groups.length > 0)
}

/** What the control plane warns of and this command does not know by itself. */
async function askFor(
  api: ApiClient,
  document: PolicyDocument,
  known: readonly string[],
): Promise<readonly string[]> {
  const policyYaml = stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
  const answer = await api.call('POST', '/api/dashboard/policies/check', { policyYaml })
  const { warnings, problems } = PolicyCheckReply.parse(answer)
  const [problem] = problems
  if (problem !== undefined)
    throw new ChaperoneError('conflict', {
      detail: `the control plane cannot read the policy (${problem.message})`,
    })
  return warnings.filter((warning) => !known.includes(warning))
}
