import type { TrafficRecord } from '../../../../core/record.ts'
import { VERSION } from '../../../version.ts'
import type { Attribute, AttributeValue } from './attribute.ts'
import { ATTRIBUTES } from './attributes.ts'

/** A record with the time at which the control plane stored it. */
export type QueuedRecord = { readonly record: TrafficRecord; readonly queuedAt: Date }

type KeyValue = { readonly key: string; readonly value: AnyValue }
type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  /** 64-bit integers are decimal strings in the JSON encoding of Protocol Buffers. */
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly KeyValue[] } }

/**
 * Returns the body of a request of OTLP/HTTP with the JSON encoding (`ExportLogsServiceRequest`,
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp): one log record for each record of a governed request.
 */
export function otlpLogs(
  records: readonly QueuedRecord[],
  resource: Readonly<Record<string, string>>,
): string {
  const attributes = { 'service.name': 'chaperone', 'service.version': VERSION, ...resource }
  return JSON.stringify({
    resourceLogs: [
      {
        resource: {
          attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) })),
        },
        scopeLogs: [
          { scope: { name: 'chaperone.records', version: VERSION }, logRecords: records.map(logRecord) },
        ],
      },
    ],
  })
}

/** Severities of the data model of OpenTelemetry logs. */
const INFO = { severityNumber: 9, severityText: 'INFO' }
const WARN = { severityNumber: 13, severityText: 'WARN' }

function logRecord({ record, queuedAt }: QueuedRecord) {
  const { decision, action_type, method, agent, time } = record
  return {
    timeUnixNano: nanoseconds(new Date(time)),
    observedTimeUnixNano: nanoseconds(queuedAt),
    ...(decision === 'ALLOW' ? INFO : WARN),
    eventName: 'chaperone.request',
    body: { stringValue: [decision, action_type ?? method, agent].filter((part) => part !== null).join(' ') },
    attributes: ATTRIBUTES.flatMap((attribute) => keyValue(attribute, record)),
  }
}

function keyValue(attribute: Attribute, record: TrafficRecord): readonly KeyValue[] {
  const value = attribute.value(record)
  if (value === null || value === undefined) return []
  const isDouble = attribute.isDouble === true && typeof value === 'number'
  return [{ key: attribute.name, value: isDouble ? { doubleValue: value } : anyValue(value) }]
}

function anyValue(value: NonNullable<AttributeValue>): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  if (isList(value)) return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } }
  const values = Object.entries(value).map(([key, count]) => ({ key, value: { intValue: String(count) } }))
  return { kvlistValue: { values } }
}

function isList(value: object): value is readonly string[] {
  return Array.isArray(value)
}

function nanoseconds(time: Date): string {
  return String(BigInt(time.getTime()) * 1_000_000n)
}
