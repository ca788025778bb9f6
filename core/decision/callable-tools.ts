import { fold } from '../action/pattern.ts'
import { nameMessage } from '../connectors/mcp/message.ts'
import type { MayCall } from '../connectors/mcp/tool-list.ts'
import { isRefusal } from '../request/canonical.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Condition } from './conditions/condition.ts'
import { decideAll } from './decide.ts'
import { deniesWithin } from './permissions/permissions.ts'
import type { CompiledPolicy, CompiledRule } from './policies/compiled-policy.ts'
import { buildPolicyIndex, type PolicyIndex } from './policies/policy-index.ts'
import { type ProxiedCase, proxiedInputs } from './proxied.ts'

/**
 * Returns a predicate that accepts the tools of this MCP server that the agent may call with at least some arguments,
 * with or without an approval. For each tool, the predicate decides a call under policies that assume the arguments
 * most favourable to the agent. At the level `monitor`, the predicate accepts all tools.
 */
export function callableTools(given: ProxiedCase): MayCall {
  const { snapshot, bound } = given
  if (snapshot.gateway.level === 'monitor') return () => true
  const lenient = { ...given, snapshot: { ...snapshot, policies: lenientPolicies(snapshot) } }
  return (name) => {
    const call = { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name } }
    const action = nameMessage(call, bound.config)
    // The gateway refuses every call with this tool name.
    if (isRefusal(action)) return false
    const { rules, inputs } = proxiedInputs(lenient, [action])
    return decideAll(rules, inputs).verdict !== 'deny'
  }
}

/** Invented tool names, one for each risk level (`toolRisk`). No rule for a specific tool matches them. */
const PROBES = ['q7zx_read_w9', 'q7zx_w9', 'q7zx_delete_w9']
const TOOLS = 'mcp.tools.'

/**
 * Reports whether `callableTools` may hide a tool from the agent. Also returns true if only a condition may hide a
 * tool. Returns false if the agent may certainly call every tool.
 */
export function hidesTools(given: ProxiedCase): boolean {
  const { snapshot, agent } = given
  if (snapshot.gateway.level === 'monitor') return false
  const mayCall = callableTools(given)
  return (
    !PROBES.every(mayCall) ||
    deniesWithin(snapshot.permissions, agent.name, TOOLS) ||
    lenientPolicies(snapshot).all.some(mayDenyTool)
  )
}

function mayDenyTool({ mode, patterns, rules }: CompiledPolicy): boolean {
  if (mode === 'monitor') return false
  const isAboutTools = patterns.some(({ prefix, isExact }) => {
    const begin = fold(prefix)
    return begin.startsWith(TOOLS) || (!isExact && TOOLS.startsWith(begin))
  })
  return isAboutTools && rules.some(({ verdict, conditions }) => verdict === 'deny' || conditions.length > 0)
}

const made = new WeakMap<PolicyIndex, PolicyIndex>()

function lenientPolicies({ policies }: Snapshot): PolicyIndex {
  const known = made.get(policies)
  if (known !== undefined) return known
  const lenient = buildPolicyIndex(policies.all.map(withAnyArguments))
  made.set(policies, lenient)
  return lenient
}

/**
 * Returns the policy under the arguments that are most favourable to the agent. Deny rules with a condition on
 * arguments are removed. Allow and hold rules lose their conditions on arguments. The remaining deny rules do not
 * depend on arguments.
 */
function withAnyArguments(policy: CompiledPolicy): CompiledPolicy {
  if (!policy.rules.some(looksAtArguments)) return policy
  const rules = policy.rules.flatMap((rule) => {
    if (!looksAtArguments(rule)) return [rule]
    if (rule.verdict === 'deny') return []
    return [{ ...rule, conditions: rule.conditions.filter((condition) => !asksForArguments(condition)) }]
  })
  return { ...policy, rules }
}

function looksAtArguments({ conditions }: CompiledRule): boolean {
  return conditions.some(asksForArguments)
}

/**
 * Reports whether the condition reads arguments of the call, which are unknown when tools are listed. The tool's name
 * is known.
 */
function asksForArguments({ text }: Condition): boolean {
  return /\bparameters\b(?!\.name\b)/.test(text)
}
