/** Formats the path of a field as Kubernetes does, such as `spec.rules[0].decision`. Empty for the whole value. */
export function fieldPath(path: readonly PropertyKey[]): string {
  let out = ''
  for (const step of path)
    out += typeof step === 'number' ? `[${step}]` : `${out === '' ? '' : '.'}${String(step)}`
  return out
}
