/** One method of a client library, ready to be called with made-up arguments. */
export type SdkCall = {
  /** Method as client code calls it, such as `issues.create`. */
  readonly name: string
  /** Method and template as the library's own source has them, `{}` for parameters; null where it does not say. */
  readonly operation: { readonly method: string; readonly shape: string } | null
  invoke(): unknown
}

type Method = (...args: unknown[]) => unknown

/** Every method of every resource below a client: `path` is where it is found, e.g. `beta.threads.create`. */
export function methodsBelow(client: object): ReadonlyMap<string, { owner: object; method: Method }> {
  const found = new Map<string, { owner: object; method: Method }>()
  walk(client, '', { found, seen: new Set([client]) })
  return found
}

type Walk = { readonly found: Map<string, { owner: object; method: Method }>; readonly seen: Set<object> }

function walk(owner: object, path: string, state: Walk): void {
  for (const key of keysOf(owner)) {
    if (key.startsWith('_') || key === 'constructor') continue
    const value = Reflect.get(owner, key)
    const name = path === '' ? key : `${path}.${key}`
    if (isMethod(value)) state.found.set(name, { owner, method: value })
    else if (typeof value === 'object' && value !== null && !state.seen.has(value)) {
      state.seen.add(value)
      walk(value, name, state)
    }
  }
}

/** Own properties and what the classes of the library add, without what every object has. */
function keysOf(owner: object): readonly string[] {
  const keys = new Set(Object.keys(owner))
  for (let level = Object.getPrototypeOf(owner); level !== null && level !== Object.prototype; ) {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (typeof key === 'string' && property.get === undefined) keys.add(key)
    level = Object.getPrototypeOf(level)
  }
  return [...keys]
}

function isMethod(value: unknown): value is Method {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))
}

/** The names of a method's parameters, in order. */
export function parametersOf(method: Method): readonly string[] {
  const text = Function.prototype.toString.call(method)
  const list = /^(?:async\s+)?[\w$]*\s*\(([\s\S]*?)\)\s*\{/.exec(text)?.[1] ?? ''
  return list
    .split(',')
    .map((one) => one.replace(/=.*/, '').trim())
    .filter((one) => one !== '')
}

export const MADE_UP = 'made-up-1'

/**
 * An object of arguments: what stands in `own`, and a made-up text for every name of a thing that a method asks it for
 * (`thread_id`), so that it can fill the path.
 */
export function argumentsWith(own: Readonly<Record<string, unknown>>): object {
  return new Proxy(
    { ...own },
    {
      get: (target, key) => {
        if (typeof key !== 'string' || key in target) return Reflect.get(target, key)
        return /(^|_)(id|name|checkpoint)$|^(key|type|role|hash)$|ID$/.test(key) ? MADE_UP : undefined
      },
    },
  )
}
