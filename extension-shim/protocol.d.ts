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
};

export type NackReason =
  | 'stale_attempt'
  | 'already_terminal'
  | 'unknown_command'
  | 'unknown_type'
  | 'malformed';

/** Names one attempt of one command. */
export type AttemptRef = { correlation_id: string; attempt: number };

export type Challenge = { type: 'challenge'; nonce: string };
export type Welcome = {
  type: 'welcome';
  protocol: number;
  epoch: string;
  server_version: string;
  heartbeat_ms: number;
  capture: object;
  mac: string;
};
export type CommandFrame = { type: 'command'; attempt: number; command: Command };
export type GoFrame = { type: 'go' } & AttemptRef;
export type CancelFrame = { type: 'cancel'; correlation_id: string; reason: string };
export type ResultAckFrame = { type: 'result_ack' } & AttemptRef;
export type NackFrame = { type: 'nack'; reason: NackReason } & Partial<AttemptRef>;
export type CaptureFrame = { type: 'capture'; capture: object };
export type PingFrame = { type: 'ping'; t: number };

export type ToExtension =
  | Challenge
  | Welcome
  | CommandFrame
  | GoFrame
  | CancelFrame
  | ResultAckFrame
  | NackFrame
  | CaptureFrame
  | PingFrame;

export type ErrorCode =
  | 'script_threw'
  | 'syntax_error'
  | 'no_such_tab'
  | 'restricted_page'
  | 'navigation_interrupted'
  | 'navigation_failed'
  | 'tab_closed'
  | 'debugger_unavailable'
  | 'result_too_large'
  | 'unknown_action'
  | 'invalid_params'
  | 'internal'
  | 'execution_timeout';

export type ErrorBody = { code: ErrorCode; message: string; stack?: string };

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
  | { type: 'nack'; reason: NackReason };

/** What an action is told besides its parameters. */
export type Context = {
  tab_id: number | undefined;
  timeout_ms: number;
  /** Aborted when nobody waits for the outcome any more. */
  signal: AbortSignal;
  /**
   * What is to be done before a timeout or a cancel is reported, once the action has begun something
   * that does not end by itself. Resolves to what the report adds, or to nothing.
   */
  onStop: (cleanUp: () => Promise<string>) => void;
};

/** What runs now, for the popup. */
export type RunningCommand = { correlation_id: string; action: string; tab_id?: number; started_at: number };

export type Action = (params: Record<string, any>, context: Context) => Promise<Outcome>;
