import { type Facts, requestOf } from '../facts/facts.ts'
import { type CelNode, calledName, pathOf } from './cel-node.ts'

/** Fields that every request through a gateway has. */
const ALWAYS = ['method', 'host'] as const

/**
 * Returns a program for a condition that asks only whether the action is a request through a gateway, as
 * `!has(request.method)`; null for any other condition. Every rule of the default policies begins with it, and CEL needs
 * 5 us for it, for each of them and each request.
 */
export function requestPresence(node: CelNode): ((facts: Facts) => boolean) | null {
  if (node.op === '!_') {
    const asked = requestPresence(node.args as CelNode)
    return asked === null ? null : (facts) => !asked(facts)
  }
  if (calledName(node) !== 'has') return null
  const [, [argument]] = node.args as [string, CelNode[]]
  const path = argument === undefined ? null : pathOf(argument)
  const name = ALWAYS.find(
    (each) => path?.root === 'request' && path.keys.length === 1 && path.keys[0] === each,
  )
  return name === undefined ? null : (facts) => requestOf(facts)?.[name] !== undefined
}
