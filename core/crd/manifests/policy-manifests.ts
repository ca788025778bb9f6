import { parse } from 'yaml'
import { DEFAULT_POLICIES } from '../../decision/policies/default-policies.ts'
import { parsePolicyYaml } from '../../decision/policies/policy-document.ts'
import { ChaperoneError } from '../../errors.ts'
import { manifestText } from '../../problem.ts'
import type { PolicySpec } from '../policy/policy-spec.ts'
import { inSpellingOfSpec, modeOfSpec } from '../policy/policy-spelling.ts'
import type { ExportNote } from './export-note.ts'
import {
  bareName,
  byNamespace,
  isCluster,
  type Manifest,
  type PlacementContext,
  referenceTo,
} from './manifest-placement.ts'

export type PolicyFacts = {
  readonly name: string
  readonly source: string
  readonly origin: string | null
  readonly description: string
  readonly enabled: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly mode: 'enforce' | 'monitor'
  /** Ids of the Gateways that the policy covers; empty for all Gateways. */
  readonly gatewayIds: readonly string[]
  /** Policy text that is in force, or the newest text if none is in force. */
  readonly text: string
  /**
   * False if the tests of every text failed, so that no text of the policy is in force and the policy decides nothing.
   */
  readonly isInForce: boolean
  /** Reason why the policy's manifest was never accepted, so that the policy denies its whole scope; null otherwise. */
  readonly invalid: string | null
  /** References to Gateways in the policy's manifest, as written; absent for a policy without a manifest. */
  readonly references?: Pick<PolicySpec, 'gatewayRefs' | 'namespaceSelector'>
}

/**
 * Returns manifests that are equivalent to the policies' rows. An unchanged default policy has no manifest, because
 * every installation starts with the default policies.
 */
export function policyManifests(rows: readonly PolicyFacts[], context: PlacementContext): Manifest[] {
  return rows.filter(({ origin }) => origin !== 'built_in').flatMap((row) => manifestsOf(row, context))
}

/**
 * Returns manifests that disable the default policies which this installation removed, because a new installation
 * starts with all of them. `policies` are the exported manifests; some of these replace a default policy.
 */
export function removedDefaults(
  rows: readonly PolicyFacts[],
  policies: readonly Manifest[],
  context: PlacementContext,
): Manifest[] {
  const { platformNamespaces } = context
  const isReplacing = ({ metadata, note }: Manifest) =>
    note?.effect !== 'left_out' && (!isCluster(context) || platformNamespaces.includes(metadata.namespace))
  const standing = new Set([
    ...rows.filter(({ origin }) => origin === 'built_in').map(({ name }) => name),
    ...policies.filter(isReplacing).map(({ metadata }) => metadata.name),
  ])
  return DEFAULT_POLICIES.filter(({ name }) => !standing.has(name)).flatMap(
    ({ name, description, priority, tags, policyYaml }) =>
      manifestsOf(
        {
          name,
          description,
          priority,
          tags,
          source: 'api',
          origin: null,
          gatewayIds: [],
          mode: 'enforce',
          enabled: false,
          text: policyYaml,
          isInForce: true,
          invalid: null,
        },
        context,
      ),
  )
}

function manifestsOf(row: PolicyFacts, context: PlacementContext): Manifest[] {
  const { priority, tags } = row
  const { document, problem } = readText(row.text)
  const note = noteOf(row, { document, problem }, context)
  const specOf = (references: object) => {
    const spec = inSpellingOfSpec(document)
    if (!isMapping(spec)) return spec
    const described = spec['description'] === undefined && row.description !== ''
    const description = described ? { description: row.description } : {}
    return { ...spec, ...description, priority, tags, mode: modeOfSpec(row), ...references }
  }
  return placesOf(row, context).map(({ name, namespace, references }) => ({
    kind: 'Policy' as const,
    metadata: context.names.of('Policy', name, namespace),
    spec: specOf(references),
    ...(note === null ? {} : { note }),
  }))
}

type ReadText = { readonly document: unknown; readonly problem: string | null }

function readText(text: string): ReadText {
  try {
    return { document: parsePolicyYaml(text).document, problem: null }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    const problem = error.options.problems?.map(manifestText).join('; ') ?? error.message
    return { document: asWritten(text), problem }
  }
}

function asWritten(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 64, logLevel: 'silent' })
  } catch {
    return text
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function noteOf(
  row: PolicyFacts,
  { document, problem }: ReadText,
  context: PlacementContext,
): ExportNote | null {
  if (!row.isInForce)
    return {
      effect: 'left_out',
      text: 'The policy is not in force, because its tests fail. Correct the policy and export again.',
    }
  const why = row.invalid ?? problem
  if (why !== null)
    return {
      effect: 'refused',
      text: `The policy is invalid, so its scope is denied until the policy is corrected. ${why}`,
    }
  const isStricter = isCluster(context) && row.source === 'api' && row.enabled && allows(document)
  return isStricter ? { effect: 'stricter', text: STRICTER } : null
}

const STRICTER =
  'The policies of manifests and the default policies decide separately, and the strictest decision wins. The default policies can therefore still hold or deny actions that this policy allows.'

function allows(document: unknown): boolean {
  const { rules = [] } = document as { readonly rules?: ReadonlyArray<{ readonly decision: string }> }
  return rules.some(({ decision }) => decision === 'allow')
}

type Place = { readonly name: string; readonly namespace?: string; readonly references: object }

function placesOf(row: PolicyFacts, context: PlacementContext): Place[] {
  const name = bareName(row.name)
  if (row.source !== 'api')
    return [{ name: row.name, references: row.references ?? ownReferences(row, context) }]
  if (row.gatewayIds.length === 0)
    return [{ name, namespace: context.platformNamespaces[0] ?? 'default', references: {} }]
  return byNamespace(row.gatewayIds, context).map(([namespace, gateways]) => ({
    name,
    namespace,
    references: { gatewayRefs: gateways.map((gateway) => ({ name: gateway })) },
  }))
}

function ownReferences({ name, gatewayIds }: PolicyFacts, { placed }: PlacementContext): object {
  const namespace = name.slice(0, Math.max(name.indexOf('/'), 0))
  const gatewayRefs = gatewayIds.flatMap((id) => referenceTo(placed.get(id), namespace))
  return gatewayRefs.length === 0 ? {} : { gatewayRefs }
}
