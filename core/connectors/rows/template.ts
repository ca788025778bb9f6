/** One compiled segment of a path template. */
export type TemplatePart =
  | { readonly kind: 'literal'; readonly text: string }
  | {
      readonly kind: 'parameter'
      readonly name: string
      readonly isNumber: boolean
      readonly mayHoldSlash: boolean
    }
  | { readonly kind: 'tail'; readonly name: string }

/** Compiles a path template such as `/repos/{owner}/{repo}/contents/{path+}`; throws for an invalid template. */
export function compileTemplate(template: string): readonly TemplatePart[] {
  const texts = template === '/' ? [] : template.slice(1).split('/')
  // The split at `/` cuts a parameter `{name/}` in two. The text is therefore split again with `{name%}` in its place.
  const joined = template.includes('/}') ? texts.join('/').replaceAll('/}', '%}').split('/') : texts
  const parts = joined.map(compilePart)
  const tail = parts.findIndex((part) => part.kind === 'tail')
  if (tail !== -1 && tail !== parts.length - 1) throw new Error(`a tail must come last: ${template}`)
  return parts
}

function compilePart(text: string): TemplatePart {
  const match = /^\{([a-z][a-z0-9_]*)([+%]?)\}$/.exec(text)
  if (match === null) {
    if (/[{}%+]/.test(text)) throw new Error(`not a template segment: ${text}`)
    return { kind: 'literal', text }
  }
  const [, name = '', mark] = match
  if (mark === '+') return { kind: 'tail', name }
  return { kind: 'parameter', name, isNumber: isNumberName(name), mayHoldSlash: mark === '%' }
}

function isNumberName(name: string): boolean {
  return name === 'number' || name.endsWith('_number')
}
