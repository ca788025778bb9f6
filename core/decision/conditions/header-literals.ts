import { isCredentialHeader } from '../../connectors/credentials/credential-headers.ts'
import { type CelNode, childrenOf, pathOf, ShapeError } from './cel-node.ts'
import { factsOf } from './fact-shapes.ts'

/** Throws ShapeError for a header name that `request.headers` never contains. */
export function assertHeaderNames(root: CelNode): void {
  for (const { node, path } of factsOf(root)) {
    const [field, name] = path.keys
    if (path.root === 'request' && field === 'headers' && typeof name === 'string') assertHeader(name, node)
  }
  assertMembers(root)
}

/** Checks the header name in `"NAME" in request.headers`. */
function assertMembers(node: CelNode): void {
  const children = childrenOf(node.args)
  const [left, right] = children
  const isIn = node.op === 'in' && left?.op === 'value' && right !== undefined
  const path = isIn ? pathOf(right) : null
  if (path?.root === 'request' && path.keys.join() === 'headers' && typeof left?.args === 'string')
    assertHeader(left.args, left)
  for (const child of children) assertMembers(child)
}

function assertHeader(name: string, { start }: CelNode): void {
  const lower = name.toLowerCase()
  if (lower !== name) throw new ShapeError(`request.headers has names in lower case: write "${lower}"`, start)
  if (isCredentialHeader(name))
    throw new ShapeError(`request.headers never has "${name}", because it carries a credential`, start)
}
