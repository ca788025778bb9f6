import { type ConstValueNode, Kind, type ValueNode } from 'graphql'

export type Variables = Readonly<Record<string, unknown>>

/**
 * Returns the value of an argument with variables filled in; undefined for a variable without a value. Number literals
 * become numbers.
 */
export function readValue(node: ValueNode | ConstValueNode, variables: Variables): unknown {
  switch (node.kind) {
    case Kind.VARIABLE:
      return Object.hasOwn(variables, node.name.value) ? variables[node.name.value] : undefined
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value)
    case Kind.STRING:
    case Kind.ENUM:
    case Kind.BOOLEAN:
      return node.value
    case Kind.NULL:
      return null
    case Kind.LIST:
      return node.values.map((value) => readValue(value, variables))
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, readValue(field.value, variables)]),
      )
  }
}

/** Returns a field's arguments by name, in document order. */
export function argumentsOf(
  field: {
    readonly arguments?:
      | readonly { readonly name: { readonly value: string }; readonly value: ValueNode }[]
      | undefined
  },
  variables: Variables,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    (field.arguments ?? []).map((argument) => [argument.name.value, readValue(argument.value, variables)]),
  )
}

type Named = { readonly name: { readonly value: string }; readonly value: ValueNode }

/**
 * Returns a name that occurs twice, among the arguments of a field or among the members of an object in an argument;
 * null if there is none.
 */
export function doubledName(field: { readonly arguments?: readonly Named[] | undefined }): string | null {
  return field.arguments === undefined || field.arguments.length === 0 ? null : doubledAmong(field.arguments)
}

function doubledAmong(named: readonly Named[]): string | null {
  const names = new Set<string>()
  for (const { name, value } of named) {
    if (names.has(name.value)) return name.value
    names.add(name.value)
    const below = doubledIn(value)
    if (below !== null) return below
  }
  return null
}

function doubledIn(node: ValueNode): string | null {
  if (node.kind === Kind.OBJECT) return doubledAmong(node.fields)
  if (node.kind !== Kind.LIST) return null
  for (const value of node.values) {
    const below = doubledIn(value)
    if (below !== null) return below
  }
  return null
}
