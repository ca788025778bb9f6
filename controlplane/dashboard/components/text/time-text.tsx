import { useNow } from '../../live/use-now.ts'

type Props = { readonly at: string | null; readonly never?: string }

const THIS_YEAR: Intl.DateTimeFormatOptions = {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
}
const OTHER_YEAR: Intl.DateTimeFormatOptions = { ...THIS_YEAR, year: 'numeric' }

/** Shows date and time in the user's time zone, and in UTC on hover. */
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
  const isThisYear = moment.getFullYear() === now.getFullYear()
  return moment.toLocaleString(undefined, isThisYear ? THIS_YEAR : OTHER_YEAR)
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
