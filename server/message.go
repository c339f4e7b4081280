package server

import (
	"encoding/json"
	"math"

	"github.com/mark3labs/mcp-go/mcp"
)

// messageHead is what the transports need to know of a message.
type messageHead struct {
	// ID is as it was written, and nil for a notification.
	ID     any             `json:"-"`
	RawID  json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		// RequestID is that of the call which a notification cancels.
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProtocolVersion string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// exactIDs is up to where mcp-go v1.2.1 gives numbers back as they came.
const exactIDs = 1<<53 - 1

// readHead reads the head of a message. It refuses an id that the answer could
// not carry back: mcp-go takes ids of any kind, and rounds large numbers. What
// else is wrong with a message, mcp-go says.
func readHead(message []byte) (messageHead, *mcp.JSONRPCError) {
	var head messageHead
	if _ = json.Unmarshal(message, &head); len(head.RawID) == 0 {
		return head, nil
	}
	var value any
	if err := json.Unmarshal(head.RawID, &value); err != nil {
		value = math.Inf(1) // a number beyond all that can be counted with
	}
	switch value := value.(type) {
	case nil:
		return head, nil
	case string:
	case float64:
		if math.Abs(value) > exactIDs {
			refusal := mcp.NewJSONRPCError(mcp.NewRequestId(head.RawID), mcp.INVALID_REQUEST,
				"the id is too large a number: use one up to 9007199254740991, or a string", nil)
			return head, &refusal
		}
	default:
		refusal := noMessage(mcp.INVALID_REQUEST, "the id must be a string or a number")
		return head, &refusal
	}
	head.ID = head.RawID
	return head, nil
}
