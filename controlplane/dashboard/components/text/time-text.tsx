import { useNow } from '../../live/use-now.ts'

type Props = { readonly at: string | null; readonly never?: string }

const SAME_DAY: Intl.DateTimeFormatOptions = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
}
const OTHER_DAY: Intl.DateTimeFormatOptions = { ...SAME_DAY, day: 'numeric', month: 'short' }

/** Shows a time in the user's time zone, and in UTC on hover. */
export function TimeText({ at, never = 'never' }: Props) {
  if (at === null) return <span className="dim">{never}</span>
  return (
    <time dateTime={at} title={utc(at)} className="time">
      {localTime(at)}
    </time>
  )
}

/** Shows the age of a time, for example `12 s ago`, and updates the text every second. */
export function AgoText({ at, never = 'never' }: Props) {
  const now = useNow(1_000)
  if (at === null) return <span className="dim">{never}</span>
  return (
    <time dateTime={at} title={`${localTime(at)}, ${utc(at)}`} className="time">
      {agoText(now - Date.parse(at))}
    </time>
  )
}

export function localTime(at: string, now = new Date()): string {
  const moment = new Date(at)
  const isToday = moment.toDateString() === now.toDateString()
  return moment.toLocaleString(undefined, isToday ? SAME_DAY : OTHER_DAY)
}

function agoText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 2) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ago`
  return `${Math.floor(seconds / 86_400)} days ago`
}

function utc(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
