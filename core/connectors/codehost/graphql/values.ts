import { type ConstValueNode, Kind, type ValueNode } from 'graphql'

export type Variables = Readonly<Record<string, unknown>>

/** What an argument says, variables filled in; `undefined` for a variable that nobody gave. Numbers as numbers. */
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

/** A field's arguments by name, in the order of the document. */
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
