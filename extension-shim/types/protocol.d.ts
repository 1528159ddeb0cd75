// What goes over the wire: types only. The daemon's side of the same words is src/protocol/.

export type TabEntry = {
  tab_id: number;
  window_id: number;
  url: string;
  title: string;
  active: boolean;
  /** Its window is the one that was focused last. */
  focused: boolean;
};

export type Command = {
  id: string;
  correlation_id: string;
  /** The name of an action. */
  type: string;
  params: Record<string, unknown>;
  /** Absent: the active tab of the last focused window. -1: a tab of a former run of the browser. */
  tab_id?: number;
  timeout_ms: number;
  /** Run at once, without a claim. */
  safe: boolean;
  redelivered: boolean;
  /** What the agent calls itself: a label. Older daemons do not say. */
  client?: string;
};

export type NackReason =
  | 'stale_attempt'
  | 'already_terminal'
  | 'unknown_command'
  | 'unknown_type'
  | 'malformed';

export type Stream = 'logs' | 'network' | 'bodies' | 'websocket' | 'actions' | 'performance';

/** What to record: in all tabs, and more in some. Empty: nothing. */
export type Capture = { all?: Stream[]; tabs?: { tab_id: number; streams: Stream[] }[] };

/** Names one attempt of one command. */
export type AttemptRef = { correlation_id: string; attempt: number };

export type Challenge = { type: 'challenge'; nonce: string };
export type Welcome = {
  type: 'welcome';
  protocol: number;
  epoch: string;
  server_version: string;
  heartbeat_ms: number;
  capture: Capture;
  mac: string;
};
export type CommandFrame = { type: 'command'; attempt: number; command: Command };
export type GoFrame = { type: 'go' } & AttemptRef;
export type CancelFrame = { type: 'cancel'; correlation_id: string; reason: string };
export type ResultAckFrame = { type: 'result_ack' } & AttemptRef;
export type NackFrame = { type: 'nack'; reason: NackReason } & Partial<AttemptRef>;
/** Without `error` the drawing is kept and need not be sent again. */
export type AnnotationsAckFrame = {
  type: 'annotations_ack';
  drawing_id: string;
  /** `storage_unavailable`: send it again later. The others: it is never taken. */
  error?: { code: 'too_large' | 'malformed' | 'storage_unavailable'; message: string };
};
/** Nobody waits for these any more, or for others of their sessions. */
export type AnnotationsOverFrame = { type: 'annotations_over'; correlation_ids: string[] };
export type CaptureFrame = { type: 'capture'; capture: Capture };
/** Before the first command, and when they have changed. `problem`: why what the person has changed here does not count. */
export type SiteRulesFrame = { type: 'site_rules'; allow: string[]; deny: string[]; agent_deny?: string[]; problem?: string };
/** After `ready`, and when it has changed. `problem`: why the person's last decision here does not count. */
export type OlderExtensionsFrame = {
  type: 'older_extensions';
  /** Those that only poll and ask to be let in. `was_let_in`: until this extension connected. */
  asking: { extension_id: string; extension_version: string; was_let_in?: true }[];
  let_in: { extension_id: string; connected: boolean }[];
  problem?: string;
};
export type OlderExtensionChange = { change: 'allow' | 'remove'; extension_id: string };
/** All that was widened and no person has confirmed yet: after `ready` if there is any, and when it has changed. */
export type WideningsFrame = { type: 'widenings'; widenings: Widening[] };
/** `what` reads after "Let "; `take_back` is the command that takes it back. */
export type Widening = { id: string; at: string; what: string; take_back?: string };
/** After `ready`: the files of this extension on the disk are not what Tabwire wrote; no commands come. */
export type ExtensionChangedFrame = { type: 'extension_changed' };
export type SiteList = 'allow' | 'deny' | 'agent_deny';
export type SiteChange = { change: 'add' | 'remove'; list: SiteList; pattern: string } | { change: 'clear_agents' };
/** Before the first command, and when they have changed. `problem`: as of `site_rules`. */
export type LocalFilesFrame = { type: 'local_files'; enabled: boolean; folders: string[]; problem?: string };
/** `admitted`: for each URL of the `file_check` whether agents may see the file. */
export type FileVerdictFrame = { type: 'file_verdict'; check: number; admitted: boolean[] };
export type LocalFileChange =
  | { change: 'add' | 'remove'; folder: string }
  | { change: 'switch'; enabled: boolean };
export type PingFrame = { type: 'ping'; t: number };

export type ToExtension =
  | Challenge
  | Welcome
  | CommandFrame
  | GoFrame
  | CancelFrame
  | ResultAckFrame
  | NackFrame
  | AnnotationsAckFrame
  | AnnotationsOverFrame
  | CaptureFrame
  | SiteRulesFrame
  | OlderExtensionsFrame
  | WideningsFrame
  | ExtensionChangedFrame
  | LocalFilesFrame
  | FileVerdictFrame
  | PingFrame;

export type ErrorCode =
  | 'script_threw'
  | 'syntax_error'
  | 'no_such_tab'
  | 'restricted_page'
  | 'navigation_interrupted'
  | 'navigation_failed'
  | 'tab_closed'
  | 'tab_crashed'
  | 'debugger_unavailable'
  | 'result_too_large'
  | 'unknown_action'
  | 'invalid_params'
  | 'internal'
  | 'blocked_by_policy'
  | 'stopped_by_user'
  | 'execution_timeout';

/** `may_have_run`: whether anything has begun in the page, where that is known. */
export type ErrorBody = { code: ErrorCode; message: string; stack?: string; hint?: string; may_have_run?: boolean };

export type Dialog = { type: string; message: string };

/** What an action found. `origin` is the page's, for results taken from a page. */
export type Outcome = { value: unknown; type: string; origin?: string; dialogs?: Dialog[] };

export type InFlight = AttemptRef & { state: 'claimed' | 'running' | 'done' };

export type Hello = {
  type: 'hello';
  protocol: number[];
  browser_id: string;
  instance_id: string;
  extension_version: string;
  nonce: string;
  mac: string;
};
export type Ready = {
  type: 'ready';
  label: string;
  user_agent: string;
  actions: string[];
  /** Which run of the browser the numbers of its tabs are of. */
  session: string;
  tabs: TabEntry[];
  in_flight: InFlight[];
  /** The waits that the drawing tools are open for. */
  draws_for: string[];
  /** That it enforces them: an extension that does not gets no commands where there are rules. */
  site_rules: true;
  /** The person has stopped everything in this browser. */
  stopped: boolean;
  /** That it shows which older extensions ask to be let in. */
  older_extensions: true;
};
export type Claim = { type: 'claim' } & AttemptRef;
export type Pending = { type: 'pending'; message?: string; progress?: number } & AttemptRef;
export type Complete = {
  type: 'complete';
  result: { success: true; value: unknown; type: string; dialogs?: Dialog[] };
  origin?: string;
} & AttemptRef;
export type Failed = { type: 'error'; error: ErrorBody } & AttemptRef;
export type TimedOut = { type: 'timeout'; error: ErrorBody } & AttemptRef;
export type Cancelled = { type: 'cancelled'; may_have_run: boolean } & AttemptRef;
export type TabsFrame = { type: 'tabs'; tabs: TabEntry[] };
export type Pong = { type: 'pong'; t: number };

/** `t`: unix time in milliseconds. No `tab_id`: it is not of a tab. */
export type RecordedEntry = { t: number; tab_id?: number; url: string };
export type LogEntry = RecordedEntry & {
  level: 'debug' | 'log' | 'info' | 'warn' | 'error';
  source: 'console' | 'exception' | 'browser';
  text: string;
  script_url?: string;
  /** Counted from 1. */
  line?: number;
  stack?: string;
};
export type NetworkEntry = RecordedEntry & {
  request_id: string;
  method: string;
  page_url: string;
  resource_type: string;
  status?: number;
  status_text?: string;
  mime_type?: string;
  duration_ms?: number;
  ttfb_ms?: number;
  /** As they came over the network: compressed, with headers. */
  bytes?: number;
  from_cache?: boolean;
  error?: string;
  request_headers?: Record<string, string>;
  response_headers?: Record<string, string>;
};
export type BodyEntry = RecordedEntry & {
  request_id: string;
  method: string;
  status?: number;
  mime_type?: string;
  request_body?: string;
  response_body?: string;
  base64?: boolean;
  truncated: boolean;
};
export type SocketEntry = RecordedEntry & {
  request_id: string;
  event: 'open' | 'sent' | 'received' | 'error' | 'close';
  text?: string;
  bytes?: number;
  truncated?: boolean;
};
export type ActionEntry = RecordedEntry & {
  kind: 'click' | 'input' | 'change' | 'submit' | 'key' | 'scroll' | 'navigate';
  target?: { selector: string; tag: string; role?: string; text?: string };
  value?: string;
  /** The value is one that nobody should read. */
  masked?: true;
  key?: string;
};
export type PerformanceEntry = RecordedEntry & { metrics: Record<string, number> };
/** Lost with the link, but for what was not yet sent. */
export type EventsFrame = {
  type: 'events';
  stream: Stream;
  entries: (LogEntry | NetworkEntry | BodyEntry | SocketEntry | ActionEntry | PerformanceEntry)[];
};

/** In CSS pixels of the viewport. */
export type Box = { x: number; y: number; width: number; height: number };
export type Annotation = {
  /** Counted from 1 within the drawing. */
  id: number;
  kind: 'rectangle' | 'arrow' | 'freehand' | 'note';
  text?: string;
  box: Box;
  /** An arrow's two ends, or a line of at most 500 points. */
  points?: [number, number][];
  /** A key of `element_details`: the one that it is about. */
  element?: string;
  /** Keys of those that lie in it or within 10 px of it, the nearest first; at most 8. */
  elements?: string[];
};
export type ElementDetails = {
  selector: string;
  /** The frames and shadow hosts that it is in, the outermost first. */
  within?: string[];
  tag: string;
  role?: string;
  name?: string;
  /** At most 200 characters. */
  text: string;
  box: Box;
  /** As computed; on request. */
  styles?: Record<string, string>;
};
/** Kept until `annotations_ack`. */
export type AnnotationsFrame = {
  type: 'annotations';
  /** 32 hexadecimal digits in lower case, made once a drawing. */
  drawing_id: string;
  /** PNG or JPEG, at most 5 MiB. */
  screenshot_data_url?: string;
  /** At most 200. */
  annotations: Annotation[];
  element_details?: Record<string, ElementDetails>;
  page_url: string;
  page_title?: string;
  tab_id?: number;
  /** 1 to 64 bytes in one line, no space at the ends. */
  annot_session_name?: string;
  /** The wait that asked for it. */
  correlation_id?: string;
  /** Nothing was drawn, and `annotations` is empty. */
  cancelled?: 'user' | 'page_closed';
};

/** The last word on an attempt: exactly one each, kept in the outbox until acknowledged. */
export type Report = Complete | Failed | TimedOut | Cancelled;

export type FromExtension =
  | Hello
  | Ready
  | Claim
  | Pending
  | Report
  | TabsFrame
  | Pong
  | EventsFrame
  | AnnotationsFrame
  | { type: 'stop'; correlation_id: string }
  | { type: 'stopped'; stopped: boolean }
  | ({ type: 'site_rule' } & SiteChange)
  | ({ type: 'older_extension' } & OlderExtensionChange)
  | ({ type: 'local_file_rule' } & LocalFileChange)
  | { type: 'file_check'; check: number; urls: string[] }
  | { type: 'key_stored' }
  | { type: 'nack'; reason: NackReason };

/** What an action is told besides its parameters. */
export type Context = {
  tab_id: number | undefined;
  timeout_ms: number;
  /** What the agent calls itself; empty: it does not say. */
  client: string;
  /** Aborted when nobody waits for the outcome any more. */
  signal: AbortSignal;
  /**
   * Called right before the first thing that the browser or the page could notice, and before each further one that
   * would come on top. Throws when nobody waits any more; a command that was cancelled before never ran.
   */
  begin: () => void;
  /**
   * What is to be done before a timeout or a cancel is reported, once the action has begun something
   * that does not end by itself. Resolves to what the report adds, or to nothing.
   */
  onStop: (cleanUp: (why: StopReason) => Promise<string>) => void;
};

/** Why nobody waits for an outcome any more. */
export type StopReason = 'timeout' | 'cancelled';

/** What runs now, for the popup. */
export type RunningCommand = { correlation_id: string; action: string; tab_id?: number; started_at: number; client: string };

/** What is recorded now, for the popup. */
export type RecordedTab = { tab_id: number; streams: Stream[] };

export type Action = (params: Record<string, any>, context: Context) => Promise<Outcome>;
