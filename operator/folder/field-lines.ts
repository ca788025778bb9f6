import { isMap, isNode, isScalar, isSeq, type LineCounter } from 'yaml'
import { type FieldLines, MAX_FIELD_PATH } from '../../core/crd/manifests/field-lines.ts'

/** Maximum number of fields whose lines are known. Further fields have the line of their parent. */
const MAX_FIELDS = 5_000

/**
 * Returns the lines of the fields of a YAML node. A field on the line of its parent, or with a long path, is omitted.
 */
export function fieldLines(root: unknown, lines: LineCounter): FieldLines {
  const found = new Map<string, number>()
  const lineAt = (offset: number | undefined) => (offset === undefined ? null : lines.linePos(offset).line)
  const visit = (node: unknown, path: string, parentLine: number) => {
    for (const { key, value, offset } of membersOf(node)) {
      const field = path === '' ? key : `${path}.${key}`
      const line = lineAt(offset) ?? parentLine
      const isNoted = line !== parentLine && field.length <= MAX_FIELD_PATH && found.size < MAX_FIELDS
      if (isNoted) found.set(field, line)
      visit(value, field, line)
    }
  }
  const first = lineAt(offsetOf(root)) ?? 1
  found.set('', first)
  visit(root, '', first)
  return Object.fromEntries(found)
}

type Member = { readonly key: string; readonly value: unknown; readonly offset: number | undefined }

function membersOf(node: unknown): readonly Member[] {
  if (isMap(node))
    return node.items.flatMap(({ key, value }) =>
      isScalar(key) ? [{ key: String(key.value), value, offset: offsetOf(key) }] : [],
    )
  if (!isSeq(node)) return []
  return node.items.map((value, index) => ({ key: String(index), value, offset: offsetOf(value) }))
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined
}
