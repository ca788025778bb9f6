import type { TrafficRecord } from '../../../../core/record.ts'

export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  | Readonly<Record<string, number>>
  | null
  | undefined

export type Attribute = {
  readonly name: string
  /** Meaning of the attribute, for the documentation. */
  readonly meaning: string
  /** Returns the value of the attribute. When the value is null or undefined, the record has no such attribute. */
  readonly value: (record: TrafficRecord) => AttributeValue
  /** True to encode whole numbers as doubles as well, so that a database column for the attribute has one type. */
  readonly isDouble?: true
}
