import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import * as z from 'zod'
import type { KnownAction } from '../../../../core/action/spec.ts'
import type { PolicyDocument } from '../../../../core/crd/policy/policy-document.ts'
import { PolicySpec } from '../../../../core/crd/policy/policy-spec.ts'
import { policyDocumentOf, policyRecordOf } from '../../../../core/crd/policy/policy-spelling.ts'
import { parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'
import { judgePolicyTests } from '../../../../core/decision/policies/policy-tests.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { manifestText } from '../../../../core/problem.ts'
import { newId } from '../../../crypto/ids.ts'
import type { PolicyRow, PolicyTestResult } from '../../policies/rows.ts'
import type { PolicyChanges } from '../../policies/write-store.ts'
import type { ApplyContext, ManifestObject } from '../apply/context.ts'

/** Content of a policy row as its manifest states it. */
export type Wanted = {
  readonly object: ManifestObject<'Policy'>
  readonly yaml: string
  readonly tests: readonly PolicyTestResult[]
  readonly gatewayIds: readonly string[]
  readonly lostGatewayIds: readonly string[]
}

const TEXT = { aliasDuplicateObjects: false, lineWidth: 0 } as const

/** Returns the policy document of a manifest as YAML. Other fields of the manifest are columns of the row. */
export function policyText({ spec }: ManifestObject<'Policy'>): string {
  return stringify(policyDocumentOf(spec), TEXT)
}

/** Returns the whole spec of a manifest as YAML, for a spec that does not match the schema of a Policy. */
export function illegibleText(spec: unknown): string {
  return stringify(spec ?? {}, TEXT)
}

export type CheckedPolicy =
  | { readonly reasons: readonly string[] }
  | {
      readonly document: PolicyDocument
      readonly tests: readonly PolicyTestResult[]
      readonly warnings: readonly string[]
    }

export function checkPolicyText(
  yaml: string,
  knownAction: (type: string) => KnownAction | null,
): CheckedPolicy {
  try {
    const { document, warnings } = parsePolicyYaml(yaml)
    return { document, tests: judgePolicyTests(document, knownAction), warnings }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return { reasons: error.options.problems?.map(manifestText) ?? [error.message] }
  }
}

export function failureText({ name, failure }: PolicyTestResult): string {
  return `the test "${name}" fails: ${failure}`
}

export function newRow({ orgId }: ApplyContext, wanted: Wanted) {
  const version = 1
  const id = newId('policy')
  const { object, yaml } = wanted
  return {
    id,
    orgId,
    name: object.fullName,
    ...recordOf(wanted),
    policyYaml: yaml,
    activeYaml: yaml,
    version,
    activeVersion: version,
    invalid: null,
  }
}

export function recordOf({ object, tests, gatewayIds, lostGatewayIds }: Wanted) {
  const { spec, source, managedBy } = object
  return { ...legibleRecord(spec), gatewayIds, lostGatewayIds, tests, source, managedBy, origin: null }
}

/**
 * Returns the fields of a manifest other than the policy document, even from a refused manifest. An unreadable field
 * gets its default, because with the default values the policy is enforced.
 */
export function legibleRecord(spec: unknown) {
  const { description, ...legible } = LEGIBLE_RECORD.parse(spec)
  return { description: description ?? '', ...policyRecordOf(legible) }
}

const { priority, tags, mode, description } = PolicySpec.shape
const LEGIBLE_RECORD = z
  .looseObject({
    priority: priority.catch(100),
    tags: tags.catch([]),
    mode: mode.catch('enforce'),
    description: description.catch(undefined),
  })
  .catch({ priority: 100, tags: [], mode: 'enforce', description: undefined })

/** Returns the fields that differ from the stored row. A changed text also raises the version. */
export function changesOf(row: PolicyRow, wanted: Wanted): PolicyChanges {
  const changes = differing(row, { ...recordOf(wanted), invalid: null })
  const { yaml } = wanted
  if (row.policyYaml !== yaml) {
    const version = row.version + 1
    return { ...changes, policyYaml: yaml, activeYaml: yaml, version, activeVersion: version }
  }
  return row.activeYaml === yaml ? changes : { ...changes, activeYaml: yaml, activeVersion: row.version }
}

export function differing(row: PolicyRow, wanted: PolicyChanges): PolicyChanges {
  const entries = Object.entries(wanted) as [keyof PolicyChanges, unknown][]
  return Object.fromEntries(entries.filter(([name, value]) => !isDeepStrictEqual(row[name], value)))
}
