const STATE = Symbol('state')

type Lazy<S> = { readonly [STATE]: { readonly given: S; readonly made: Map<string, unknown> } }

/**
 * Returns a function that creates objects whose properties are computed once, when they are first read. The getters are
 * on a shared prototype, so an object that is never read costs few allocations. `for … in` lists the properties; a
 * spread copies none of them.
 */
export function lazyObjects<S>(
  makers: Readonly<Record<string, (given: S) => unknown>>,
): (given: S) => object {
  const prototype = Object.defineProperties({}, Object.fromEntries(Object.entries(makers).map(getterOf)))
  return (given) => Object.assign(Object.create(prototype), { [STATE]: { given, made: new Map() } })
}

/** Returns the argument from which a lazy object was created. */
export function givenOf<S>(lazy: object): S {
  return (lazy as Lazy<S>)[STATE].given
}

function getterOf<S>([name, make]: [string, (given: S) => unknown]): [string, PropertyDescriptor] {
  return [
    name,
    {
      enumerable: true,
      get(this: Lazy<S>): unknown {
        const { given, made } = this[STATE]
        if (!made.has(name)) made.set(name, make(given))
        return made.get(name)
      },
    },
  ]
}
